// A scheduled message of a test key gets its outcome when its time has come, unless it was moved or canceled.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { endScheduledTests } from '../../../src/features/messages/scheduled-tests.ts';
import { messagesUpkeep } from '../../../src/features/messages/upkeep.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { runTask } from '../../support/housekeeping.ts';
import { inMinutes } from '../../support/scheduled.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const query = (text: string, ...values: unknown[]) => api.database.pool.query(text, values);
const request = (method: 'GET' | 'POST' | 'PATCH', path: string, body?: object) =>
  api.request(method, `/v1/my/messages${path}`, {
    token: api.testApiKey,
    ...(body === undefined ? {} : { body }),
  });

async function send(to: string | string[], minutes = 60): Promise<number> {
  const scheduled_at = inMinutes(minutes).toISOString();
  const sent = await request('POST', '', {
    channel: 'email',
    to,
    subject: 'Hi',
    html: '<p>Hi</p>',
    scheduled_at,
  });
  expect([sent.status, sent.body.status]).toEqual([201, 'scheduled']);
  return Number(sent.body.id);
}

const letTimeCome = (ids: readonly number[]) =>
  query(
    `with m as (update messages set scheduled_at = now() where id = any($1))
     update test_messages set ends_at = now() where message_id = any($1) and ends_at is not null`,
    ids,
  );

it('is delivered, bounces, fails or is complained about, as if it had been sent now', async () => {
  const later = await send('later@example.com');
  const letter = await send(['ada@example.com', 'bounced@example.com']);
  const ids = [
    letter,
    letter + 1,
    await send('failed@example.com'),
    await send('complained@example.com'),
    await send('canceled@example.com'),
    await send('moved@example.com'),
  ];
  await letTimeCome(ids.slice(0, 5));
  expect((await request('POST', `/${ids[4]}/cancel`)).status).toBe(200);
  expect(await endScheduledTests(api.database.pool)).toBe(4);
  expect(await endScheduledTests(api.database.pool)).toBe(0);
  const shown = await Promise.all([...ids, later].map(async (id) => (await request('GET', `/${id}`)).body));
  expect(shown.map(({ status }) => status)).toEqual([
    ...['delivered', 'bounced', 'failed', 'complained', 'canceled', 'scheduled', 'scheduled'],
  ]);
  expect(shown.map(({ events }) => Object.values(events ?? {}).map((event) => event?.type))).toEqual([
    ...[
      ['sent', 'delivered'],
      ['sent', 'bounced'],
      ['failed'],
      ['sent', 'delivered', 'complained'],
      [],
      [],
      [],
    ],
  ]);
  expect(shown[0]).toMatchObject({
    provider: 'test',
    sent_at: expect.any(String),
    delivered_at: expect.any(String),
  });
  expect(shown[2]?.failure).toMatchObject({ code: 'rejected' });
  const { rows } = await query('select used from sandbox_usage where account_id = $1', api.accountId);
  expect(rows).toEqual([]);
});

it('waits for the request that moves it', async () => {
  const id = await send('ada@example.com');
  await letTimeCome([id]);
  const client = await api.database.pool.connect();
  await client.query('begin');
  await client.query('select from messages where id = $1 for no key update', [id]);
  expect(await endScheduledTests(api.database.pool)).toBe(0);
  await client.query('rollback');
  client.release();
  expect(await endScheduledTests(api.database.pool)).toBe(1);
});

it('keeps its content until a day after its time', async () => {
  const [id, other] = [await send('ada@example.com'), await send('ada@example.com')];
  await letTimeCome([other]);
  await endScheduledTests(api.database.pool);
  await query(
    `with m as (update messages set scheduled_at = now() - interval '25 hours' where id = $1)
     update test_messages set created_at = now() - interval '3 days' where message_id = any($2)`,
    other,
    [id, other],
  );
  const task = messagesUpkeep.tasks?.find(({ name }) => name === 'test_contents');
  if (task) await runTask(api.database, task, new Date());
  const { rows } = await query('select message_id as id from message_contents where message_id = any($1)', [
    id,
    other,
  ]);
  expect(rows).toEqual([{ id }]);
});
