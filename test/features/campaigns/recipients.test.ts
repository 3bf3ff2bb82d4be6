// The recipients, counts and report of a campaign agree with what happened to each message.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fillLists } from '../../../src/features/campaigns/list-fills.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import {
  act,
  CAMPAIGNS,
  fieldsOf,
  filledList,
  prepareSender,
  readyCampaign,
  show,
  type TestRecipient,
  warmUp,
  writeRecipients,
} from '../../support/campaign-requests.ts';

let api: TestApi;
let listId: number;
let contactIds: number[];
let id: number;
let ids: number[];

const outcomes: TestRecipient[] = [
  { status: 'delivered', sent: true, opened: true, clicked: true },
  { status: 'sent', sent: true, opened: true },
  { status: 'sent', sent: true },
  { status: 'bounced', sent: true },
  { status: 'failed', reason: 'rejected' },
  { status: 'skipped', reason: 'unsubscribed' },
  { status: 'skipped', reason: 'suppressed' },
  { status: 'unknown' },
  { status: 'canceled', reason: 'canceled' },
  { status: 'queued' },
];

beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://mail.acme.test' } });
  await prepareSender(api, api, 'acme.test');
  ({ listId, contactIds } = await filledList(api, api, outcomes.length));
  await warmUp(api, listId);
  id = await readyCampaign(api, listId);
  await act(api, id, 'send');
  const recipients = outcomes.map((outcome, n) => ({
    ...outcome,
    contactId: contactIds[n] ?? 0,
    address: `r${n}@${n % 2 ? 'odd' : 'even'}.test`,
  }));
  ids = await writeRecipients(api, id, recipients, 3);
}, 240_000);
afterAll(() => api.close());

const pool = () => api.database.pool;
const at = (query = '') => `${CAMPAIGNS}/${id}/recipients${query}`;
/** The numbers of the recipients that a response lists. */
const numbersOf = ({ list }: { list: { id?: unknown }[] }) =>
  list.map((recipient) => ids.indexOf(Number(recipient.id)));

describe('GET /campaigns/{id}/recipients', () => {
  it('shows each recipient with the outcome of its message', async () => {
    const { list, headers } = await api.request('GET', at());
    expect(headers.get('X-Total-Count')).toBe('10');
    expect(list).toHaveLength(10);
    expect(list[9]).toEqual({
      id: ids[0],
      contact_id: contactIds[0],
      to: 'r0@even.test',
      state: 'sent',
      status: 'delivered',
      variant: null,
      failure: null,
      bounce: null,
      sent_at: expect.any(String),
      delivered_at: expect.any(String),
      opened_at: expect.any(String),
      clicked_at: expect.any(String),
      created_at: expect.any(String),
    });
  });

  it.each([
    ['?state=sent', [3, 2, 1, 0]],
    ['?state=failed', [4]],
    ['?state=skipped', [6, 5]],
    ['?state=unknown', [7]],
    ['?state=canceled', [8]],
    ['?state=remaining', [9]],
    ['?status=bounced', [3]],
    ['?reason=unsubscribed', [5]],
    ['?opened=true', [1, 0]],
    ['?clicked=true', [0]],
    ['?state=sent&opened=false', [3, 2]],
  ])('filters by %s', async (query, expected) => {
    const response = await api.request('GET', at(query));
    expect(numbersOf(response)).toEqual(expected);
    expect(response.headers.get('X-Total-Count')).toBe(String(expected.length));
  });

  it('lists all in pages, by number and by id, across blocks', async () => {
    for (const limit of [1, 2, 3, 4, 7]) {
      const byNumber: number[] = [];
      const byId: number[] = [];
      for (let page = 1; page <= Math.ceil(10 / limit); page += 1) {
        byNumber.push(...numbersOf(await api.request('GET', at(`?limit=${limit}&page=${page}`))));
        const after = byId.length > 0 ? `&after=${ids[byId.at(-1) ?? 0] ?? 0}` : '';
        byId.push(...numbersOf(await api.request('GET', at(`?limit=${limit}${after}`))));
      }
      expect([limit, byNumber]).toEqual([limit, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]]);
      expect([limit, byId]).toEqual([limit, byNumber]);
    }
    expect((await api.request('GET', at('?page=99'))).list).toEqual([]);
  });

  it.each(['?state=gone', '?status=gone', '?opened=1', '?format=xml', '?reason=A%20b'])(
    'refuses %s',
    async (query) => {
      expect((await api.request('GET', at(query))).status).toBe(422);
    },
  );

  it('is a CSV file by `format` and by `Accept`, with guarded cells', async () => {
    await pool().query(`update messages set to_address = '=cmd@even.test' where id = $1`, [ids[0]]);
    const byFormat = await api.request('GET', at('?format=csv&opened=true'));
    const byAccept = await api.request('GET', at('?opened=true'), { headers: { Accept: 'text/csv' } });
    expect(byFormat.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(byAccept.text).toBe(byFormat.text);
    const [header, first, second, rest] = byFormat.text.split('\r\n');
    expect(header).toMatch(/^message_id,contact_id,to,state,status,reason,/);
    expect(first).toMatch(
      new RegExp(`^${ids[0] ?? 0},${contactIds[0] ?? 0},'=cmd@even.test,sent,delivered,`),
    );
    expect(second).toContain(`${ids[1] ?? 0},`);
    expect(rest).toBe('');
    await pool().query(`update messages set to_address = 'r0@even.test' where id = $1`, [ids[0]]);
  });

  it('continues a search that found too few recipients in 20 blocks', async () => {
    const large = await readyCampaign(api, listId);
    await act(api, large, 'send');
    const many: TestRecipient[] = Array.from({ length: 30 }, (_, n) =>
      n === 0 ? { status: 'failed', reason: 'rejected' } : { status: 'queued' },
    );
    const [first] = await writeRecipients(api, large, many, 1);
    const path = `${CAMPAIGNS}/${large}/recipients?reason=rejected`;
    const empty = await api.request('GET', path);
    expect([empty.list, empty.headers.get('X-Total-Count-Estimated')]).toEqual([[], 'true']);
    const next = /<([^>]+)>; rel="next"/.exec(empty.headers.get('Link') ?? '')?.[1] ?? '';
    const found = await api.request('GET', new URL(next).pathname + new URL(next).search);
    expect(found.list.map((each) => Number(each.id))).toEqual([first]);
  });
});

describe('POST /campaigns/{id}/recipients/to_list', () => {
  const toList = (body: unknown, headers = {}) => api.request('POST', at('/to_list'), { body, headers });
  const fill = async () => {
    while (await fillLists(pool()));
  };
  const membersOf = async (list: unknown) => {
    const { rows } = await pool().query<{ contact_id: number }>(
      'select contact_id from list_members where list_id = $1 order by contact_id',
      [list],
    );
    return rows.map((row) => contactIds.indexOf(row.contact_id));
  };

  it.each([
    [{}, 'list_id'],
    [{ list_id: 1, name: 'x' }, 'list_id'],
    [{ list_id: 999_999 }, 'list_id'],
    [{ name: 'x', state: 'gone' }, 'state'],
    [{ name: 'x', opened: true, not_opened: true }, 'not_opened'],
    [{ name: 'x', opend: true }, 'opend'],
  ])('refuses %j', async (body, field) => {
    const response = await toList(body);
    expect([response.status, fieldsOf(response)]).toEqual([422, [field]]);
  });

  it.each<[object, number[]]>([
    [{ state: 'sent', not_opened: true }, [2, 3]],
    [{ opened: true }, [0, 1]],
    [{ clicked: true }, [0]],
    [{ state: 'failed' }, [4]],
    [{ reason: 'suppressed' }, [6]],
  ])('fills a new list by %j', async (filters, expected) => {
    const { status, body } = await toList({ name: 'Made', ...filters });
    expect([status, body.status]).toEqual([201, 'running']);
    await fill();
    expect(await membersOf(body.list_id)).toEqual(expected);
    const made = await api.request('GET', `/v1/my/lists/${Number(body.list_id)}`);
    expect(made.body).toMatchObject({ name: 'Made', visible: false });
    const { list } = await api.request('GET', at('/to_list?limit=1'));
    expect(list[0]).toMatchObject({
      ...{ id: body.id, status: 'completed', looked_at_count: 10, added_count: expected.length },
    });
  });

  it('adds no contact twice, and runs once for one Idempotency-Key', async () => {
    const made = await api.request('POST', '/v1/my/lists', { body: { name: 'Again' } });
    const body = { list_id: made.body.id, state: 'sent' };
    const headers = { 'Idempotency-Key': 'fill' };
    const [one, two] = [await toList(body, headers), await toList(body, headers)];
    expect(two.body.id).toBe(one.body.id);
    await toList(body);
    await fill();
    expect(await membersOf(made.body.id)).toEqual([0, 1, 2, 3]);
  });

  it('continues after a crash where it stopped, even with several workers', async () => {
    const { body } = await toList({ name: 'Crash' });
    await fillLists(pool());
    await Promise.all([fill(), fill(), fill()]);
    expect(await membersOf(body.list_id)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('continues with other lists while one fails', async () => {
    const [failing, good] = [await toList({ name: 'Failing' }), await toList({ name: 'Good' })];
    await pool().query(
      `create function refuse() returns trigger language plpgsql as $$ begin
         if new.list_id = ${Number(failing.body.list_id)} then raise 'refused'; end if; return new; end $$;
       create trigger refuse before insert on list_members for each row execute function refuse()`,
    );
    for (let tries = 0; tries < 4; tries += 1) await fillLists(pool()).catch(() => undefined);
    await pool().query('drop function refuse cascade');
    expect(await membersOf(good.body.list_id)).toHaveLength(10);
    await fill();
    expect(await membersOf(failing.body.list_id)).toHaveLength(10);
  });
});

describe('GET /campaigns/{id}', () => {
  it('shows counts that add up to the audience', async () => {
    const { body } = await show(api, id);
    expect(body.sent_count).toBe(4);
    expect(body.data?.progress).toEqual({
      ...{ audience_count: 10, sent_count: 4, failed_count: 1, skipped_count: 2, unknown_count: 1 },
      ...{ canceled_count: 1, remaining_count: 1, waiting_for: null },
    });
  });
});

describe('GET /campaigns/{id}/report', () => {
  it('has counts, rates, links and domains', async () => {
    await pool().query(
      `insert into message_interactions (message_id, link, occurred_at, url) values
         ($1, 0, now(), null), ($1, 1, now(), 'https://acme.test/a'), ($2, 0, now(), null)`,
      [ids[0], ids[1]],
    );
    await pool().query(
      `insert into tracking_hits (created_at, message_id, account_id, link, is_bot) values
         (now(), $1, $2, 0, false), (now(), $1, $2, 0, false), (now(), $1, $2, 0, true), (now(), $1, $2, 1, false),
         (now(), $1, $2, 1, false), (now(), $3, $2, 0, false)`,
      [ids[0], api.accountId, ids[1]],
    );
    const { status, body } = await api.request('GET', `${CAMPAIGNS}/${id}/report`);
    expect(status).toBe(200);
    expect(body.counts).toEqual({
      ...{ audience_count: 10, sent_count: 4, delivered_count: 1, bounced_count: 1, complained_count: 0 },
      ...{ opened_count: 2, clicked_count: 1, failed_count: 1, skipped_count: 2, unknown_count: 1 },
      ...{ canceled_count: 1, remaining_count: 1, total_opens: 3, total_clicks: 2 },
    });
    expect(body.rates).toMatchObject({
      delivered: 0.25,
      bounced: 0.25,
      opened: 0.5,
      clicked: 0.25,
      clicked_of_opened: 0.5,
    });
    expect(body.links).toEqual([
      { variant: null, number: 1, url: 'https://acme.test/a', unique_clicks: 1, total_clicks: 2 },
    ]);
    expect(body.domains).toMatchObject([
      { domain: expect.any(String), audience_count: 5 },
      { domain: expect.any(String), audience_count: 5 },
    ]);
    expect(body.over_time?.bucket_seconds).toBe(3_600);
    const buckets = body.over_time?.buckets as unknown as { sent_count: number }[];
    expect(buckets.reduce((sum, bucket) => sum + bucket.sent_count, 0)).toBe(4);
  });

  it('of a draft has no rates', async () => {
    const draft = await readyCampaign(api, listId);
    const { body } = await api.request('GET', `${CAMPAIGNS}/${draft}/report`);
    expect(body).toMatchObject({
      counts: { audience_count: 0 },
      rates: { opened: null },
      domains: [],
      links: [],
    });
  });
});

describe('POST /campaigns/{id}/resend_unknown', () => {
  it('returns the first count again for the same Idempotency-Key, and queues no recipients', async () => {
    const done = await readyCampaign(api, listId);
    await act(api, done, 'send');
    const [first] = await writeRecipients(api, done, [{ status: 'unknown' }, { status: 'sent', sent: true }]);
    await pool().query(
      `update campaigns set status = 'completed', phase = 'done', outcome = 'completed' where id = $1`,
      [done],
    );
    const headers = { 'Idempotency-Key': 'again' };
    const resend = () => api.request('POST', `${CAMPAIGNS}/${done}/resend_unknown`, { headers });
    expect((await resend()).body).toEqual({ requeued_count: 1 });
    const repeated = await resend();
    expect(repeated.headers.get('Idempotent-Replayed')).toBe('true');
    expect([repeated.status, repeated.body]).toEqual([200, { requeued_count: 1 }]);
    const { rows } = await pool().query('select 1 from send_queue where message_id = $1', [first]);
    expect(rows).toHaveLength(1);
  });

  it('queues unknown recipients once, and leaves the campaign completed', async () => {
    const done = await readyCampaign(api, listId);
    await act(api, done, 'send');
    const [, unknown] = await writeRecipients(api, done, [
      { status: 'sent', sent: true },
      { status: 'unknown' },
    ]);
    await pool().query(
      `update campaigns set status = 'completed', phase = 'done', outcome = 'completed' where id = $1`,
      [done],
    );
    expect((await act(api, done, 'resend_unknown')).body).toEqual({ requeued_count: 1 });
    expect((await act(api, done, 'resend_unknown')).body).toEqual({ requeued_count: 0 });
    const { rows } = await pool().query(
      'select message_id, campaign_id from send_queue where campaign_id = $1',
      [done],
    );
    expect(rows).toEqual([{ message_id: unknown, campaign_id: done }]);
    expect((await show(api, done)).body.status).toBe('completed');
  });
});
