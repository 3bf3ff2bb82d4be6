// An account with too many held messages cannot send more until a limit lets some go; repeated requests still succeed.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { type HeldBound, holdsTooMany } from '../../../src/features/messages/held-bound.ts';
import { onClient } from '../../../src/platform/db/queryable.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { eventually } from '../../support/eventually.ts';
import { queueEmails } from '../../support/queued.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { HELD_MESSAGES_MAX: '3' } });
});
afterAll(() => api.close());
beforeEach(() => query('truncate messages, send_queue cascade'));

const query = (text: string, values: unknown[] = []) => api.database.pool.query(text, values);
const hold = (columns: string, count = 3) =>
  queueEmails(api.database, api, count).then(() => query(`update send_queue set ${columns}`));
const send = (token = api.apiKey, key?: string) =>
  api.request('POST', '/v1/my/messages', {
    token,
    body: { channel: 'email', to: 'ann@example.com', subject: 'Hi', html: '<p>Hi</p>' },
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

it('counts messages that wait for a limit, and none that is on its way', async () => {
  const isOver = (bound: HeldBound) =>
    onClient(api.database.pool, (client) => holdsTooMany(client, api.accountId, bound));
  const three = { maxMessages: 3, maxMegabytes: 0 };
  await hold("due_at = now() + interval '1 day'");
  expect(await isOver(three)).toBe(true);
  expect(await isOver({ maxMessages: 4, maxMegabytes: 0 })).toBe(false);
  await query('update send_queue set attempt_count = 1');
  expect(await isOver(three)).toBe(false);
  await query('update send_queue set attempt_count = 0, due_at = now()');
  expect(await isOver(three)).toBe(false);
  await query('update send_queue set held = true, content_bytes = 400000');
  expect(await isOver({ maxMessages: 0, maxMegabytes: 1 })).toBe(true);
  expect(await isOver({ maxMessages: 0, maxMegabytes: 2 })).toBe(false);
  await query(`update send_queue set channel = 'email_whole', file_bytes = 400000`);
  expect(await isOver({ maxMessages: 0, maxMegabytes: 2 })).toBe(true);
});
