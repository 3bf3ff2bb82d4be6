// The message list filters and counts exactly, and the delivery status names the reason for each state.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { writeCampaign } from '../../support/campaigns.ts';
import { queueEmails } from '../../support/queued.ts';

let api: TestApi;
let ids: number[];
beforeAll(async () => {
  api = await startTestApi();
  ids = await queueEmails(api.database, api, 30);
  await queueEmails(api.database, api.other, 2, { prefix: 'other' });
});
afterAll(() => api.close());

const list = (query = '') => api.request('GET', `/v1/my/messages${query}`);
const idsOf = (response: Awaited<ReturnType<typeof list>>) => response.list.map((each) => each.id);
const newestFirst = () => [...ids].reverse();

describe('GET /messages', () => {
  it('needs an API key', async () => {
    expect((await api.request('GET', '/v1/my/messages', { token: null })).status).toBe(401);
  });

  it('lists the newest 25 messages of the brand', async () => {
    const response = await list();
    expect(response.status).toBe(200);
    expect(idsOf(response)).toEqual(newestFirst().slice(0, 25));
    expect(response.headers.get('x-total-count')).toBe('30');
    expect(response.headers.get('x-total-pages')).toBe('2');
    expect(response.headers.get('x-page-number')).toBe('1');
    expect(response.list[0]).not.toHaveProperty('html');
  });

  it('returns pages by number and by the last id', async () => {
    expect(idsOf(await list('?page=2'))).toEqual(newestFirst().slice(25));
    expect(idsOf(await list('?page=3'))).toEqual([]);
    const first = await list('?limit=10');
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    expect(next).toContain(`after=${String(ids[20])}`);
    expect(idsOf(await list(new URL(next).search))).toEqual(newestFirst().slice(10, 20));
    expect((await list('?limit=1000')).list).toHaveLength(30);
  });

  it.each([
    '?page=0',
    '?limit=x',
    '?nope=1',
    '?status=lost',
    '?created_after=yesterday',
    '?created_before=0000-01-01T00:00:00Z',
    '?created_before=2026-01-01T00:00:00-16:00',
    `?created_before=2026-01-01T00:00:00.${'1'.repeat(200)}Z`,
    '?channel=fax',
  ])('refuses %s and names the parameter', async (query) => {
    const response = await list(query);
    expect(response.status).toBe(422);
    expect(Object.keys(response.body.validation_errors ?? {})).toEqual([/[a-z_]+/.exec(query)?.[0]]);
  });

  it('filters exactly and counts the filtered messages', async () => {
    const [id] = ids;
    await api.database.pool.query(
      `update messages set status = 'failed', idempotency_key = 'k', created_at = now() - interval '2 days' where id = $1`,
      [id],
    );
    await api.database.pool.query('delete from send_queue where message_id = $1', [id]);
    const yesterday = new Date(Date.now() - 86_400_000).toISOString();
    for (const query of [
      '?status=failed',
      '?idempotency_key=k',
      '?to=U0@EXAMPLE.com',
      `?created_before=${yesterday}`,
    ]) {
      const response = await list(query);
      expect(idsOf(response)).toEqual([id]);
      expect(response.headers.get('x-total-count')).toBe('1');
    }
    expect((await list(`?created_after=${yesterday}&limit=200`)).list).toHaveLength(29);
    expect((await list('?channel=sms')).list).toHaveLength(0);
    expect((await list('?to=nobody')).list).toHaveLength(0);
  });

  it('shows a message that an open intent covers as sending, in responses and filters', async () => {
    const [, covered] = ids;
    await api.database.pool.query(
      `insert into handovers (owner, seq, provider, message_ids, attempts) values (1, 1, 'smtp', array[$1::bigint], '{1}')`,
      [covered],
    );
    await api.database.pool.query('update send_queue set owner = 1 where message_id = $1', [covered]);
    const one = await api.request('GET', `/v1/my/messages/${String(covered)}`);
    expect(one.body.status).toBe('sending');
    expect(idsOf(await list('?status=sending'))).toEqual([covered]);
    expect(idsOf(await list('?status=queued&limit=200'))).not.toContain(covered);
    await api.database.pool.query('delete from handovers');
    await api.database.pool.query('update send_queue set owner = null');
    expect((await list('?status=sending')).list).toHaveLength(0);
  });

  it('adds the stored counts of closed days to the number of later messages', async () => {
    const last = ids[9];
    await api.database.pool.query(
      `insert into message_daily_counts (brand_id, day, last_id, count) values ($1, current_date - 1, $2, 1000)`,
      [api.brandId, last],
    );
    expect((await list()).headers.get('x-total-count')).toBe('1020');
    await api.database.pool.query('delete from message_daily_counts');
  });
});

describe('GET /delivery/status', () => {
  const status = () => api.request('GET', '/v1/my/delivery/status');

  it('needs an API key', async () => {
    expect((await api.request('GET', '/v1/my/delivery/status', { token: null })).status).toBe(401);
  });

  it('shows the figures of the limits and the waiting messages', async () => {
    const { body } = await status();
    expect(body).toMatchObject({
      state: 'open',
      commercial: {
        account_tier: 'free',
        allowance: 1_000,
        used: 0,
        remaining: 1_000,
        sandbox_monthly_cap: 100,
      },
      exact_sender: {
        email: `sandbox-${api.accountId}@mail.test`,
        verified: true,
        limited: false,
        limit: null,
      },
      brand_subdomain: { name: null, limited: false, limit: null, remaining: null },
      pacing: { limited: false, per_minute: null, queued: 29, held: 0 },
      reason: null,
      remediation: null,
    });
  });

  it.each([
    [
      'limited',
      'allowance_used',
      'insert into allowance_buckets values ($1, now(), 1000)',
      'delete from allowance_buckets',
    ],
    [
      'limited',
      'sandbox_limit_reached',
      `insert into sandbox_usage values ($1, date_trunc('month', now() at time zone 'utc'), 100)`,
      'delete from sandbox_usage',
    ],
    [
      'limited',
      'warm_up',
      `with domain as (
         insert into domains (account_id, brand_id, name, return_path_host, tracking_host)
         select $1::bigint, id, 'new.test', 'r', 't' from brands where account_id = $1 returning id)
       insert into warm_ups (domain_id, account_id, daily_limit) select id, $1, 0 from domain`,
      'delete from warm_ups',
    ],
    [
      'limited',
      'domain_unverified',
      `insert into domains (account_id, brand_id, name, status, lost_at, return_path_host, tracking_host)
       select account_id, id, 'lost.test', 'failed', now(), 'r', 't' from brands where account_id = $1`,
      'delete from domains',
    ],
    [
      'blocked',
      'account_paused',
      'update accounts set sending_paused_at = now() where id = $1',
      'update accounts set sending_paused_at = null',
    ],
  ])('is %s for the reason %s', async (state, reason, before, after) => {
    await api.database.pool.query(before, [api.accountId]);
    const { body } = await status();
    expect(body).toMatchObject({ state, reason });
    expect(String(body.remediation)).toMatch(/\w{5}/);
    await api.database.pool.query(after);
  });

  it('counts the recipients of active campaigns that wait, and when the next are due', async () => {
    const { pool } = api.database;
    const { body: before } = await status();
    const { campaignId } = await writeCampaign(api.database, api, { recipients: 25, blockSize: 10 });
    const due = new Date('2099-01-01T00:00:00.000Z');
    await pool.query('update campaign_blocks set due_at = $2 where campaign_id = $1 and n > 0', [
      campaignId,
      due,
    ]);
    await pool.query(
      `update campaign_blocks set hold_reason = 'allowance' where campaign_id = $1 and n = 2`,
      [campaignId],
    );
    const queued = Number(before.pacing?.queued);
    expect((await status()).body.pacing).toMatchObject({
      ...{ queued: queued + 25, held: 5, next_due_at: due.toISOString() },
    });
    await pool.query('update campaign_blocks set closed_at = now() where campaign_id = $1 and n = 0', [
      campaignId,
    ]);
    expect((await status()).body.pacing).toMatchObject({ queued: queued + 15 });
    await pool.query(`update campaigns set status = 'paused' where id = $1`, [campaignId]);
    // Adding the contacts raised the sandbox cap of the account.
    expect((await status()).body).toEqual({ ...before, commercial: expect.anything() });
    await pool.query('delete from campaign_blocks where campaign_id = $1', [campaignId]);
  });

  it('counts a message that waits because of a pause, without a time', async () => {
    const { pool } = api.database;
    const [id] = await queueEmails(api.database, api, 1);
    await pool.query(`update send_queue set due_at = 'infinity' where message_id = $1`, [id]);
    const shown = await status();
    await pool.query('delete from send_queue where message_id = $1', [id]);
    expect([shown.status, shown.body.pacing]).toMatchObject([200, { next_due_at: null }]);
  });

  it('reserves no capacity', async () => {
    const before = await status();
    expect((await status()).body).toEqual(before.body);
  });
});
