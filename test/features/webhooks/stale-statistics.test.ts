// Claiming and recording deliveries uses indexes, even if plans were made while the queue was empty.
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { recordAttempts } from '../../../src/features/webhooks/attempts/record.ts';
import { claimDeliveries } from '../../../src/features/webhooks/loop/claim.ts';
import { testEvents } from '../../support/events.ts';
import {
  BACKLOG,
  MAX_ENTRIES_READ,
  openStaleQueue,
  OWNER,
  type StaleQueue,
  CLAIMED,
} from '../../support/stale-queue.ts';

let stale: StaleQueue;

beforeEach(async () => {
  stale = await openStaleQueue('webhook_queue');
});
afterEach(() => stale.close());

/** Adds only queue rows: the test does not need their deliveries. */
async function queue(first: number, count: number): Promise<void> {
  await stale.database.pool.query(
    `insert into webhook_queue (delivery_id, created_at, webhook_id, event_id, generation)
     select n, now(), 1, gen_random_uuid(), 1 from generate_series($1::int, $1::int + $2::int - 1) n`,
    [first, count],
  );
}

async function claim() {
  const order = { owner: OWNER, after: 0, endpoints: 10, quantum: CLAIMED, quotas: new Map() };
  return (await claimDeliveries(stale.sender.pool, order)).deliveries;
}

type Deliveries = Awaited<ReturnType<typeof claim>>;

/** Records half of them as attempts, and half as dropped. */
function record(deliveries: Deliveries) {
  const outcome = {
    delivered: false,
    timedOut: false,
    responseCode: 500,
    error: 'HTTP 500',
    excerpt: null,
    durationMs: 5,
  };
  const made = deliveries.map((due) => ({
    due: { ...due, type: 'email.sent', occurredAt: new Date(), data: '{}' },
    url: 'https://example.com/hook',
    outcome: { ...outcome, startedAt: new Date(), retryAfterSeconds: null },
  }));
  const dropped = deliveries.map((due) => ({ due, reason: 'event_gone' as const }));
  const half = deliveries.length / 2;
  const rules = { schedule: [60], systemFrom: 'no-reply@mail.test', events: testEvents };
  return recordAttempts(
    stale.sender.pool,
    { made: made.slice(half), dropped: dropped.slice(0, half) },
    rules,
  );
}

it('claims and records by keys if the queue was empty when its plans were made', async () => {
  await queue(1, 2);
  await record(await claim());
  await queue(3, BACKLOG);

  let claims: Deliveries = [];
  expect(await stale.entriesRead(async () => (claims = await claim()))).toBeLessThan(MAX_ENTRIES_READ);
  expect(claims).toHaveLength(CLAIMED);
  expect(await stale.entriesRead(() => record(claims))).toBeLessThan(MAX_ENTRIES_READ);
  const { rows } = await stale.database.pool.query('select count(*) from webhook_queue');
  expect(rows).toEqual([{ count: BACKLOG - CLAIMED }]);
}, 60_000);
