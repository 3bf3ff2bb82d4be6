// PATCH moves a scheduled message, and a message that waits is canceled; both change all copies of a letter or none.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { claimBacklog } from '../../../src/delivery/ledger/claim/claim.ts';
import { intendMessages } from '../../../src/delivery/ledger/intend/queue-batch.ts';
import { messageClasses } from '../../../src/delivery/terms/message.ts';
import { cancelMessage } from '../../../src/features/messages/cancel.ts';
import type { Tenant } from '../../../src/platform/auth/tenant.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi, type TestResponse } from '../../support/api.ts';
import { insertSender } from '../../support/queued.ts';
import { inMinutes, schedule } from '../../support/scheduled.ts';
import { TEST_LIMITS } from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

const OWNER = 73;

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi({ env: { SANDBOX_MONTHLY_CAP: '10000' } });
  await insertSender(api.database, OWNER);
});
afterAll(() => api.close());

const query = async (text: string, ...values: unknown[]) =>
  (await api.database.pool.query<Record<string, unknown>>(text, values)).rows;

const email = { channel: 'email', to: 'ada@example.com', subject: 'Tomorrow', html: '<p>Hi</p>' };
const letter = { ...email, to: ['ada@example.com', 'bob@example.com'], bcc: 'eve@example.com' };
const file = { filename: 'a.pdf', content: Buffer.from('%PDF-1.4 of a test').toString('base64') };
const tomorrow = () => inMinutes(24 * 60).toISOString();

interface Options {
  token?: string;
  key?: string;
}

const call =
  (method: 'POST' | 'PATCH' | 'GET') =>
  (path: string, body?: object, { token, key }: Options = {}) =>
    api.request(method, `/v1/my/messages${path}`, {
      ...(token === undefined ? {} : { token }),
      ...(body === undefined ? {} : { body }),
      headers: key === undefined ? {} : { 'Idempotency-Key': key },
    });

const [post, patch, get] = [call('POST'), call('PATCH'), call('GET')];

async function send(body: object, options: Options = {}): Promise<number> {
  const sent = await post('', body, options);
  expect(sent.status).toBe(201);
  return Number(sent.body.id);
}

const move = (id: number, scheduled_at: unknown, options: Options = {}) =>
  patch(`/${id}`, { scheduled_at }, options);
const cancel = (id: number, body?: object, options: Options = {}) => post(`/${id}/cancel`, body, options);
const copiesOf = async (id: number) =>
  (await query('select id from messages where letter_id = $1 order by id', id)).map(
    (row) => row['id'] as number,
  );
const problem = ({ status, body }: TestResponse) => [status, body.code, body.message];
const statusesOf = async (ids: readonly number[]) =>
  (await query('select status from messages where id = any($1) order by id', ids)).map(
    ({ status }) => status,
  );

const claim = (queue: 'email' | 'email_whole' = 'email') =>
  claimBacklog(
    api.database.pool,
    {
      channel: 'email',
      queue,
      class: messageClasses.transactional,
      accountId: api.accountId,
      owner: OWNER,
      quantum: 50,
    },
    TEST_LIMITS,
  );

async function intend(queue?: 'email_whole') {
  const claims = await claim(queue);
  const intent = { owner: OWNER, seq: Date.now(), provider: 'smtp', keyring: testKeyring };
  await intendMessages(api.database.pool, { ...intent, claims });
}

describe('PATCH', () => {
  it('moves a message, and sends it now if the time has come', async () => {
    const id = await send({ ...email, scheduled_at: tomorrow() });
    const later = inMinutes(48 * 60).toISOString();
    const moved = await move(id, later);
    expect([moved.status, moved.body.id, moved.body.status, moved.body.scheduled_at]).toEqual([
      200,
      id,
      'scheduled',
      later,
    ]);
    const now = await move(id, inMinutes(-1).toISOString());
    expect([now.status, now.body.status]).toEqual([200, 'queued']);
    expect(await query('select due_at <= now() as due from send_queue where message_id = $1', id)).toEqual([
      { due: true },
    ]);
    expect(problem(await move(id, later))).toEqual([
      422,
      'invalid_transition',
      'the message is queued and can no longer be moved',
    ]);
  });

  it('moves all copies of a letter, and keeps its files until then', async () => {
    const id = await send({ ...letter, attachments: [file], scheduled_at: tomorrow() });
    const copies = await copiesOf(id);
    await cancel(copies[1] ?? 0, { only: true });
    const kept = async () =>
      (await query('select kept_until from attachment_files where account_id = $1', api.accountId))[0];
    const before = await kept();
    const later = inMinutes(20 * 24 * 60).toISOString();
    const moved = await move(copies[2] ?? 0, later);
    expect([moved.status, moved.body.scheduled_at]).toEqual([200, later]);
    expect(moved.body.recipients).toMatchObject([
      { status: 'scheduled' },
      { status: 'canceled' },
      { status: 'scheduled' },
    ]);
    expect(await query('select distinct due_at from send_queue where message_id = any($1)', copies)).toEqual([
      { due_at: new Date(later) },
    ]);
    expect(((await kept())?.['kept_until'] as Date) > (before?.['kept_until'] as Date)).toBe(true);
    await schedule(api.database.pool, copies.slice(0, 1), inMinutes(-1));
    expect(problem(await move(copies[2] ?? 0, tomorrow()))).toEqual([
      422,
      'invalid_transition',
      `message ${copies[0]}, a copy of the same letter, is queued and can no longer be moved`,
    ]);
    expect(problem(await move(copies[1] ?? 0, tomorrow()))[2]).toMatch(
      /is (queued|canceled) and can no longer be moved$/,
    );
    await cancel(id);
  });

  it.each<[string, unknown, string]>([
    ['null', null, 'give a time; the present one sends the message now'],
    ['a number', 5, 'must be a string'],
    [
      'no time',
      'tomorrow',
      'must be an ISO 8601 date-time with seconds and a zone, such as 2026-03-01T10:00:00Z',
    ],
    [
      'the past',
      inMinutes(-6).toISOString(),
      'is in the past; give the present time to send the message now',
    ],
    ['too far ahead', inMinutes(31 * 24 * 60).toISOString(), 'must be at most 30 days ahead'],
  ])('refuses %s, and changes nothing', async (_name, time, words) => {
    const at = tomorrow();
    const id = await send({ ...email, scheduled_at: at });
    const { status, body } = await move(id, time);
    expect([status, body.validation_errors?.['scheduled_at']?.[0]]).toEqual([422, words]);
    expect((await get(`/${id}`)).body.scheduled_at).toBe(at);
  });
});

describe('cancel', () => {
  it('ends a message once for each key, and gives back what the sandbox counts', async () => {
    const used = async () =>
      Number(
        (await query('select used from sandbox_usage where account_id = $1', api.accountId))[0]?.['used'],
      );
    const id = await send({ ...email, scheduled_at: tomorrow() });
    const before = await used();
    const canceled = await cancel(id, undefined, { key: 'once' });
    const failure = { code: 'canceled', message: 'canceled by a request' };
    expect([canceled.status, canceled.body.status, canceled.body.failure]).toEqual([
      200,
      'canceled',
      failure,
    ]);
    expect(await used()).toBe(before - 1);
    const again = await cancel(id, undefined, { key: 'once' });
    expect([again.status, again.headers.get('idempotent-replayed'), again.body]).toEqual([
      200,
      'true',
      canceled.body,
    ]);
    expect(problem(await cancel(id))).toEqual([
      422,
      'invalid_transition',
      'the message is canceled and can no longer be canceled',
    ]);
  });

  it('takes a message from the sender that has claimed it, unless that is of an earlier version', async () => {
    const id = await send(email);
    await claim();
    await query('update processes set checks_claims = false where id = $1', OWNER);
    const { status, headers, body } = await cancel(id);
    expect([status, body.code, headers.get('retry-after')]).toEqual([503, 'unavailable', '1']);
    await query('update processes set checks_claims = true where id = $1', OWNER);
    expect((await cancel(id, undefined, { key: 'claimed' })).body.status).toBe('canceled');
    expect((await cancel(id, undefined, { key: 'claimed' })).status).toBe(200);
  });

  it('is refused in words if the message may have left', async () => {
    const id = await send(email);
    await intend();
    const words = async () => problem(await cancel(id))[2];
    expect(await words()).toBe('the message is being sent and can no longer be canceled');
    await query(`with h as (delete from handovers) update messages set status = 'unknown' where id = $1`, id);
    expect(await words()).toBe(
      'the message has an attempt without a known outcome and can no longer be canceled',
    );
    await query(
      `with q as (delete from send_queue where message_id = $1) update messages set status = 'sent' where id = $1`,
      id,
    );
    expect(await words()).toBe('the message is sent and can no longer be canceled');
    await query('update messages set class = 2 where id = $1', id);
    expect(await words()).toBe('the message belongs to a campaign or flow and is canceled with it');
  });

  it('ends all copies of a letter or none, or only one', async () => {
    const id = await send(letter);
    const copies = await copiesOf(id);
    const one = await cancel(copies[2] ?? 0, { only: true });
    expect([one.status, one.body.id, one.body.status]).toEqual([200, copies[2], 'canceled']);
    await query('update send_queue set due_at = $2 where message_id = $1', copies[0], inMinutes(60));
    await intend('email_whole');
    const named = `message ${copies[1]}, a copy of the same letter, is being sent and can no longer be canceled`;
    expect(problem(await cancel(id))[2]).toBe(named);
    expect(await statusesOf(copies)).toEqual(['queued', 'queued', 'canceled']);
    const tenant = { ...api, actor: { kind: 'user', id: 1 } } as unknown as Tenant;
    const byAssistant = inTransaction(api.database.pool, (trx) =>
      cancelMessage(
        trx,
        { pool: api.database.pool, plusAddresses: false },
        tenant,
        { isAssistant: true },
        { id, only: false, recall: { needed: false } },
      ),
    );
    await expect(byAssistant).rejects.toThrow(/^another copy of the same letter is being sent/);
    await query('delete from handovers');
    const all = await cancel(copies[2] ?? 0);
    expect([all.status, await statusesOf(copies)]).toEqual([200, ['canceled', 'canceled', 'canceled']]);
  });

  it.each([
    ['PATCH', (id: number, options: Options) => move(id, tomorrow(), options)],
    ['cancel', (id: number, options: Options) => cancel(id, undefined, options)],
  ])('and PATCH are for messages of the brand, and of test keys for test keys: %s', async (_name, change) => {
    const id = await send({ ...email, scheduled_at: tomorrow() });
    expect((await change(id, { token: api.other.apiKey })).status).toBe(404);
    expect(problem(await change(id, { token: api.testApiKey }))[1]).toBe('test_key');
    const test = await send({ ...email, scheduled_at: tomorrow() }, { token: api.testApiKey });
    expect((await change(test, { token: api.testApiKey })).status).toBe(200);
  });
});

describe('the list', () => {
  const idsOf = async (status: string, token?: string) => {
    const { body } = await call('GET')(
      `?status=${status}&limit=100`,
      undefined,
      token === undefined ? {} : { token },
    );
    return (body as unknown as { id: number; status: string }[]).map(
      (row) => (expect(row.status).toBe(status), row.id),
    );
  };

  it('finds scheduled messages, which are not queued ones until their time has come', async () => {
    const ids = [
      await send(email),
      await send({ ...email, scheduled_at: tomorrow() }),
      await send({ ...letter, scheduled_at: tomorrow() }),
      await send({ ...email, scheduled_at: tomorrow() }),
    ];
    const [now = 0, scheduled = 0, lead = 0, come = 0] = ids;
    await schedule(api.database.pool, [come], inMinutes(-1));
    const found = await idsOf('scheduled');
    expect(found.filter((id) => ids.includes(id))).toEqual([lead, scheduled]);
    expect(found).toEqual(expect.arrayContaining(await copiesOf(lead)));
    expect((await idsOf('queued')).filter((id) => ids.includes(id))).toEqual([come, now]);
    const test = await send({ ...email, scheduled_at: tomorrow() }, { token: api.testApiKey });
    expect(await idsOf('scheduled', api.testApiKey)).toContain(test);
    await cancel(scheduled);
    expect(await idsOf('scheduled')).not.toContain(scheduled);
  });
});
