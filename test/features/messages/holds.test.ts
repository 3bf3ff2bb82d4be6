// The timeline of a message says since when and why it was held, also after it goes on.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { releaseHeldPage } from '../../../src/delivery/ledger/release/release-held.ts';
import { pauseSending, resumeSending } from '../../../src/features/accounts/service.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { TEST_LIMITS } from '../../support/sending.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

async function send(): Promise<number> {
  const body = { channel: 'email', to: 'ada@example.com', subject: 'Hello', html: '<p>Hi</p>' };
  return Number((await api.request('POST', '/v1/my/messages', { body })).body.id);
}

/** Holds a message as a sender does. */
async function hold(id: number, reason: string): Promise<void> {
  await api.database.pool.query('select hold_messages($1)', [
    JSON.stringify({ [id]: { hold: { reason, until: null } } }),
  ]);
}

interface Shown {
  type: string;
  attempt: number;
  occurred_at: string;
  data: { reason?: string };
}

const eventsOf = async (id: number) =>
  (await api.request<{ events: Shown[] }>('GET', `/v1/my/messages/${id}`)).body.events;
const summary = (events: Shown[]) =>
  events.map(({ type, attempt, data }) => [type, attempt, data.reason ?? null]);

it('keeps the last hold of a message that was released', async () => {
  const { pool } = api.database;
  const id = await send();
  await pauseSending(pool, api.accountId, 'unpaid');
  await hold(id, 'account_paused');
  const [held] = await eventsOf(id);
  expect(held).toMatchObject({ type: 'held', data: { reason: 'account_paused' } });
  await pool.query('update send_queue set held = true, due_at = now() + $2::interval where message_id = $1', [
    id,
    '72 hours',
  ]);
  await pool.query(
    `insert into held_backlogs (account_id, channel, class, recheck_at)
     values ($1, 'email', 0, now() + interval '5 minutes')`,
    [api.accountId],
  );
  await resumeSending(pool, api.accountId);
  expect(await releaseHeldPage(pool, TEST_LIMITS)).toMatchObject({ released: 1 });
  const events = await eventsOf(id);
  expect(summary(events)).toEqual([
    ['held', 1, 'account_paused'],
    ['released', 1, 'account_paused'],
  ]);
  expect(events[0]?.occurred_at).toBe(held?.occurred_at);
});

it('shows a message as held since the first time that the same limit held it', async () => {
  const id = await send();
  await hold(id, 'pacing');
  const [first] = await eventsOf(id);
  await hold(id, 'pacing');
  expect(await eventsOf(id)).toEqual([first]);
  await hold(id, 'wallet');
  const [other] = await eventsOf(id);
  expect(other?.data.reason).toBe('wallet');
  expect(Date.parse(other?.occurred_at ?? '')).toBeGreaterThan(Date.parse(first?.occurred_at ?? ''));
});

it('puts a hold between the attempts that it was between', async () => {
  const id = await send();
  // A second apart, because times are shown in milliseconds.
  const insert = (attempt: number, type: string, seconds: number) =>
    api.database.pool.query(
      `insert into message_events (message_id, attempt, type, occurred_at, data)
       values ($1, $2, $3, now() + make_interval(secs => $4), '{}')`,
      [id, attempt, type, seconds],
    );
  await insert(1, 'deferred', -1);
  await hold(id, 'wallet');
  await insert(2, 'deferred', 1);
  expect(summary(await eventsOf(id))).toEqual([
    ['deferred', 1, null],
    ['held', 2, 'wallet'],
    ['deferred', 2, null],
  ]);
});
