// The test keys of an account may send 1,000 messages a day, and their contents are removed after a day.
import pino from 'pino';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { upkeep } from '../../../src/features/upkeep.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { waitForLocks } from '../../support/lock-order.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const send = (token: string, idempotencyKey?: string) =>
  api.request('POST', '/v1/my/messages', {
    token,
    headers: idempotencyKey === undefined ? {} : { 'Idempotency-Key': idempotencyKey },
    body: { channel: 'email', to: 'ada@example.com', subject: 'Hi', html: '<p>Hi</p>' },
  });

it('accepts 1,000 messages a day from the test keys of one account', async () => {
  const { pool } = api.database;
  const first = await send(api.testApiKey, 'first');
  expect(first.status).toBe(201);
  await pool.query(
    `insert into test_messages (message_id, account_id, created_at)
     select -n, $1, date_trunc('day', now(), 'UTC') + interval '1 second' * (n % 2 - 1) from generate_series(1, 1998) n`,
    [api.accountId],
  );
  // Half of these were sent yesterday.
  const { rows } = await pool.query<{ count: number }>(
    `select count(*)::int from test_messages where created_at >= date_trunc('day', now(), 'UTC')`,
  );
  expect(rows).toEqual([{ count: 1_000 }]);
  const refused = await send(api.testApiKey);
  expect([refused.status, refused.body.code]).toEqual([429, 'rate_limited']);
  expect(refused.body.message).toMatch(/test keys .* 1000 messages a day/);
  const retryAfter = Number(refused.headers.get('retry-after'));
  expect(retryAfter).toBeGreaterThan(0);
  expect(retryAfter).toBeLessThanOrEqual(86_400);
  expect((await send(api.testApiKey, 'another')).status).toBe(429);
  const replayed = await send(api.testApiKey, 'first');
  expect([replayed.status, replayed.body.id]).toEqual([201, first.body.id]);
  expect((await send(api.apiKey)).status).toBe(201);
  expect((await send(api.other.testApiKey)).status).toBe(201);
});

it('accepts no more than that if they arrive together', async () => {
  const { pool } = api.database;
  await pool.query('delete from test_messages');
  await pool.query(
    'insert into test_messages (message_id, account_id) select -n, $1 from generate_series(1, 998) n',
    [api.accountId],
  );
  const sending = await inTransaction(pool, async (trx) => {
    await trx.query('lock table messages in access exclusive mode');
    const first = send(api.testApiKey);
    await waitForLocks(pool, () => 1);
    return [first, ...Array.from({ length: 4 }, () => send(api.testApiKey)), send(api.apiKey)];
  });
  const statuses = (await Promise.all(sending)).map(({ status }) => status);
  expect(statuses.slice(0, 5).sort()).toEqual([201, 201, 429, 429, 429]);
  expect(statuses[5]).toBe(201);
});

it('keeps the contents of messages of test keys for a day', async () => {
  const { pool } = api.database;
  await pool.query('delete from test_messages');
  const { body: test } = await send(api.testApiKey);
  const { body: live } = await send(api.apiKey);
  const task = upkeep.tasks.find(({ name }) => name === 'test_contents');
  const deps = { ...upkeep, config: api.config, database: api.database, log: pino({ level: 'silent' }) };
  const run = (hours: number) => task?.run(deps, new Date(Date.now() + hours * 3_600_000), () => undefined);
  const html = async (id: unknown) => (await api.request('GET', `/v1/my/messages/${String(id)}`)).body.html;
  expect(await run(23)).toBe(0);
  expect(await html(test.id)).toBe('<p>Hi</p>');
  expect(await run(25)).toBe(1);
  expect([await html(test.id), await html(live.id)]).toEqual([null, '<p>Hi</p>']);
  expect((await pool.query('select 1 from test_messages')).rowCount).toBe(0);
});
