// An account with too many held messages cannot send more until a limit lets some go; repeated requests still succeed.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type HeldBound, holdsTooMany } from '../../../src/features/messages/held-bound.ts';
import { onClient } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { queueEmails } from '../../support/queued.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { HELD_MESSAGES_MAX: '3', SANDBOX_MONTHLY_CAP: '10000' } });
});
afterAll(() => api.close());
beforeEach(() => query('truncate messages, send_queue cascade'));

const query = (text: string, values: unknown[] = []) => api.database.pool.query(text, values);
const hold = (columns: string, count = 3) =>
  queueEmails(api.database, api, count).then(() => query(`update send_queue set ${columns}`));
const send = (token = api.apiKey, key?: string, more: object = {}) =>
  api.request('POST', '/v1/my/messages', {
    token,
    body: { channel: 'email', to: 'ann@example.com', subject: 'Hi', html: '<p>Hi</p>', ...more },
    headers: key === undefined ? {} : { 'Idempotency-Key': key },
  });

it('refuses further messages of the account, and no others', async () => {
  const first = await send(api.apiKey, 'first');
  expect(first.status).toBe(201);
  await hold('held = true');
  const refused = await eventually(async () => {
    const sent = await send();
    expect(sent.status).toBe(429);
    return sent;
  });
  expect([refused.body.code, refused.headers.get('retry-after')]).toEqual(['rate_limited', '60']);
  const { rows } = await query('select count(*)::int as count from messages where account_id = $1', [
    api.accountId,
  ]);
  expect((await send(api.apiKey, 'second')).status).toBe(429);
  expect((await send(api.apiKey, 'first')).body.id).toBe(first.body.id);
  expect(
    (await query('select count(*)::int as count from messages where account_id = $1', [api.accountId])).rows,
  ).toEqual(rows);
  expect((await send(api.other.apiKey)).status).toBe(201);
});

it('counts messages that wait for a limit, and those that wait for their time, and none that is on its way', async () => {
  const over = async (bound: HeldBound) => {
    const found = await onClient(api.database.pool, (client) => holdsTooMany(client, api.accountId, bound));
    return Object.entries(found ?? {}).flatMap(([kind, isOver]) => (isOver ? [kind] : []));
  };
  const three = { maxMessages: 3, maxMegabytes: 0 };
  await hold("due_at = now() + interval '1 day'");
  expect(await over(three)).toEqual(['held']);
  expect(await over({ maxMessages: 4, maxMegabytes: 0 })).toEqual([]);
  await query('update send_queue set attempt_count = 1');
  expect(await over(three)).toEqual([]);
  await query('update send_queue set attempt_count = 0, due_at = now()');
  expect(await over(three)).toEqual([]);
  await query('update send_queue set held = true, content_bytes = 400000');
  expect(await over({ maxMessages: 0, maxMegabytes: 1 })).toEqual(['held']);
  expect(await over({ maxMessages: 0, maxMegabytes: 2 })).toEqual([]);
  await query(`update send_queue set channel = 'email_whole', file_bytes = 400000`);
  expect(await over({ maxMessages: 0, maxMegabytes: 2 })).toEqual(['held']);
  await query(
    `update send_queue set held = false, due_at = now() + interval '1 day', queued_at = now() + interval '1 day'`,
  );
  expect(await over({ maxMessages: 0, maxMegabytes: 2 })).toEqual(['scheduled']);
  await hold('held = channel = $q$email$q$');
  expect(await over(three)).toEqual(['held', 'scheduled']);
});

it('refuses scheduled messages by the number of those that are scheduled, and others by those that are held', async () => {
  await hold(`due_at = now() + interval '1 day', queued_at = now() + interval '1 day'`);
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
  const refused = await eventually(async () => {
    const sent = await send(api.apiKey, undefined, { scheduled_at });
    expect(sent.status).toBe(429);
    return sent;
  });
  expect(refused.body.message).toMatch(/ scheduled; wait until some are sent, or cancel some/);
  expect((await send()).status).toBe(201);
});

it('bounds batches as it does single messages, which count for as many', async () => {
  await hold(`due_at = now() + interval '1 day', queued_at = now() + interval '1 day'`);
  const email = { channel: 'email', to: 'ann@example.com', subject: 'Hi', html: '<p>Hi</p>' };
  const scheduled_at = new Date(Date.now() + 3_600_000).toISOString();
  const { accountId, brandId, apiKey } = api.other;
  await queueEmails(api.database, { accountId, brandId }, 3);
  await query('update send_queue set held = true where account_id = $1', [accountId]);
  const post = (more: object, token = api.apiKey) =>
    api.request('POST', '/v1/my/messages/batch', {
      token,
      body: { messages: Array(3).fill({ ...email, ...more }) },
    });
  await eventually(async () => {
    const refused = await post({ scheduled_at });
    expect([refused.status, String(refused.body.message)]).toEqual([
      429,
      expect.stringContaining(' scheduled; wait'),
    ]);
  });
  expect((await post({})).status).toBe(200);
  expect((await post({ scheduled_at }, apiKey)).status).toBe(200);
  await eventually(async () => expect((await post({}, apiKey)).status).toBe(429));
});
