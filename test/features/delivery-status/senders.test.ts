// The delivery status says when nothing leaves although no limit holds it: the senders are paused, or none runs.
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const query = (text: string, values: unknown[] = []) => api.database.pool.query(text, values);

beforeEach(async () => {
  await query(`delete from processes where role = 'sender'`);
  await query('delete from lanes');
});

/** Inserts a sender that was seen some seconds ago, and the lane that steers it. */
async function addSender(mode: string | null, secondsAgo = 0): Promise<void> {
  const { rows } = await api.database.pool.query<{ id: number }>(
    `insert into processes (role, host, pid, seen_at)
     values ('sender', 'test', 1, now() - make_interval(secs => $1)) returning id`,
    [secondsAgo],
  );
  if (mode === null) return;
  await query(
    `insert into lanes (kind, n, mode, process_id) select 'send', count(*) + 1, $1, $2 from lanes where kind = 'send'`,
    [mode, rows[0]?.id],
  );
}

const status = async () => (await api.request('GET', '/v1/my/delivery/status')).body;

it('reports that no sender runs', async () => {
  await addSender('running', 60);
  expect(await status()).toMatchObject({ senders: 'stopped' });
});

it.each([
  ['paused', ['paused', 'draining']],
  ['running', ['paused', 'running']],
  ['running', ['paused', null]],
])('reports senders as %s if their lanes are %j', async (expected, modes) => {
  for (const mode of modes) await addSender(mode);
  expect(await status()).toMatchObject({ senders: expected });
});

it('reports since when the oldest message could have been sent', async () => {
  expect((await status()).pacing).toMatchObject({ queued: 0, due_since: null });
  const sent = await api.request('POST', '/v1/my/messages', {
    body: { channel: 'email', to: 'ada@example.com', subject: 'Hi', body: 'Hi' },
  });
  expect(sent.status).toBe(201);
  const { pacing } = await status();
  expect(pacing).toMatchObject({ queued: 1, held: 0 });
  expect(Date.parse(String(pacing?.due_since))).toBeLessThanOrEqual(Date.now());
});
