// At most 64 started runs wait to begin at once, and no account blocks the starts of another.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../src/config.ts';
import { createWaker, type Waker } from '../../../src/platform/db/wake.ts';
import { appendToOutbox } from '../../../src/platform/outbox/append.ts';
import { type BegunReporter, createBegunReporter } from '../../../src/platform/outbox/begun-reporter.ts';
import { createDispatcher, type Dispatcher } from '../../../src/platform/outbox/dispatcher.ts';
import { type Engine, openEngine } from '../../../src/platform/temporal/connection.ts';
import type { OutboxEntry } from '../../../src/platform/temporal/contract.ts';
import { workflowRuns } from '../../../src/platform/temporal/start.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { useEngine } from '../../support/engine.ts';
import { testPulse } from '../../support/pulse.ts';
import { until } from '../../workflows/until.ts';

const log = pino({ level: 'silent' });

let db: TestDatabase;
let waker: Waker;
let engine: Engine;
let begun: BegunReporter;
let dispatcher: Dispatcher | null = null;

beforeAll(async () => {
  const test = await useEngine();
  db = await createTestDatabase();
  waker = createWaker({ url: db.url });
  engine = openEngine(loadConfig({ TEMPORAL_ADDRESS: test.address, TEMPORAL_NAMESPACE: test.namespace }));
  begun = createBegunReporter({ pool: db.database.pool, waker, log });
}, 120_000);

afterEach(async () => {
  await dispatcher?.stop();
  await db.database.pool.query('delete from outbox');
});

afterAll(async () => {
  await engine.close();
  await waker.close();
  await db.drop();
});

function dispatch(): void {
  dispatcher = createDispatcher({
    database: db.database,
    client: engine.client,
    waker,
    pulse: testPulse(db.database.pool),
    log,
  });
}

const runsOf = (accountId: number, name: string, count: number) =>
  Array.from({ length: count }, (_, n): OutboxEntry => ({
    kind: 'start',
    workflowType: 'noWorkerRunsThis',
    workflowId: `${name}/${n}`,
    taskQueue: 'flows',
    searchAttributes: { AccountId: accountId },
  }));

interface Row {
  workflow_id: string;
  /** Whether it was claimed. */
  claimed: boolean;
}

async function rowsOf(name: string): Promise<Row[]> {
  const { rows } = await db.database.pool.query<Row>(
    `select workflow_id, attempt_count > 0 as claimed from outbox where workflow_id like $1 || '/%' order by id`,
    [name],
  );
  return rows;
}

const claimedOf = async (name: string) => (await rowsOf(name)).filter(({ claimed }) => claimed);

/** Waits until the engine knows these workflows. */
async function untilStarted(rows: readonly Row[]): Promise<void> {
  for (const { workflow_id: id } of rows) await until(() => workflowRuns(engine.client, id));
}

/** Waits until as many starts are under way as there may be, and returns their rows. */
async function fillPlaces(name: string): Promise<Row[]> {
  await until(async () => (await claimedOf(name)).length === 64);
  const claimed = await claimedOf(name);
  await untilStarted(claimed);
  return claimed;
}

describe('the starts of runs', () => {
  it('wait while 64 others have not begun', async () => {
    await appendToOutbox(db.database.pool, runsOf(1, 'many', 100), 2);
    dispatch();
    const first = await fillPlaces('many');
    expect(await rowsOf('many')).toHaveLength(100);
    for (const { workflow_id: id } of first.slice(0, 20)) begun.report(id);
    await until(async () => (await rowsOf('many')).length === 80 && (await claimedOf('many')).length === 64);
    await untilStarted(await claimedOf('many'));
  }, 60_000);

  it('come soon for another account', async () => {
    await appendToOutbox(db.database.pool, runsOf(1, 'burst', 200), 2);
    dispatch();
    const first = await fillPlaces('burst');
    await appendToOutbox(db.database.pool, runsOf(2, 'neighbour', 1), 2);
    // Both accounts have the same chance of each place.
    for (const { workflow_id: id } of first.slice(0, 12)) begun.report(id);
    await until(async () => (await claimedOf('neighbour')).length === 1);
    await untilStarted(await rowsOf('neighbour'));
  }, 60_000);

  it('are sent once more after their lease if the beginning was not recorded, and then forgotten', async () => {
    await appendToOutbox(db.database.pool, runsOf(1, 'lost', 1), 2);
    dispatch();
    await until(async () => (await claimedOf('lost')).length === 1);
    await untilStarted(await rowsOf('lost'));
    await db.database.pool.query('update outbox set leased_until = now()');
    waker.wake('outbox');
    await until(async () => (await rowsOf('lost')).length === 0);
  }, 60_000);

  it('do not wait for a beginning if they are of another kind', async () => {
    const [start] = runsOf(1, 'other-queue', 1) as [Extract<OutboxEntry, { kind: 'start' }>];
    const [run] = runsOf(1, 'signaled', 1) as [Extract<OutboxEntry, { kind: 'start' }>];
    const entries: OutboxEntry[] = [
      { ...start, taskQueue: 'orchestration' },
      { ...run, kind: 'signal_with_start', signal: 'wake' },
    ];
    await appendToOutbox(db.database.pool, entries, 2);
    await appendToOutbox(db.database.pool, runsOf(1, 'awaited', 1), 0);
    dispatch();
    await until(async () => {
      const { rows } = await db.database.pool.query('select 1 from outbox');
      return rows.length === 0;
    }, 8_000);
  }, 60_000);
});
