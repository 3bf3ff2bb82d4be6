import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { openDatabase, type Database } from '../../src/db/database.ts';
import { claimDeliveries } from '../../src/webhooks/claim.ts';
import { recordAttempts } from '../../src/webhooks/record.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { entriesReadOf, forgetRows } from '../support/entries-read.ts';

const OWNER = 41;
const BACKLOG = 20_000;
const TAKEN = 50;
/** Far fewer than wait, and enough for a few looks at each row that is taken. */
const FEW = 1_000;

let test: TestDatabase;
let sender: Database;

beforeEach(async () => {
  test = await createTestDatabase();
  sender = openDatabase({ url: test.url, poolMax: 1, keyedPlans: true });
  await test.database.pool.query(
    `insert into processes (id, role, host, pid) overriding system value values ($1, 'sender', 'x', 1)`,
    [OWNER],
  );
});
afterEach(async () => {
  await sender.close();
  await test.drop();
});

/** Rows of deliveries whose history is gone: what matters here is the queue. */
async function queue(first: number, count: number): Promise<void> {
  await test.database.pool.query(
    `insert into webhook_queue (delivery_id, created_at, webhook_id, event_id, generation)
     select n, now(), 1, gen_random_uuid(), 1 from generate_series($1::int, $1::int + $2::int - 1) n`,
    [first, count],
  );
}

async function claim() {
  const order = { owner: OWNER, after: 0, endpoints: 10, quantum: TAKEN, quotas: new Map() };
  return (await claimDeliveries(sender.pool, order)).deliveries;
}

type Deliveries = Awaited<ReturnType<typeof claim>>;

/** Half of them as attempts, half as not to be made. */
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
  const rules = { schedule: [60], systemFrom: 'no-reply@mail.test' };
  return recordAttempts(sender.pool, { made: made.slice(half), dropped: dropped.slice(0, half) }, rules);
}

it('a queue that was empty when its plans were made is claimed and recorded by keys', async () => {
  const entriesRead = entriesReadOf('webhook_queue', sender, test.database);
  await queue(1, 2);
  await forgetRows(test.database, 'webhook_queue');
  await queue(3, 2);
  await record(await claim());
  await queue(5, BACKLOG);

  let claims: Deliveries = [];
  expect(await entriesRead(async () => (claims = await claim()))).toBeLessThan(FEW);
  expect(claims).toHaveLength(TAKEN);
  expect(await entriesRead(() => record(claims))).toBeLessThan(FEW);
  const { rows } = await test.database.pool.query('select count(*) from webhook_queue');
  expect(rows).toEqual([{ count: BACKLOG - TAKEN }]);
}, 60_000);
