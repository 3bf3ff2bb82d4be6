// The outbox sends every committed request to the engine, and survives crashes, outages and refusals.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../src/config.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createWaker, type Waker } from '../../../src/platform/db/wake.ts';
import { appendToOutbox } from '../../../src/platform/outbox/append.ts';
import { claimEntries } from '../../../src/platform/outbox/claims.ts';
import {
  createDispatcher,
  type Dispatcher,
  type DispatcherDependencies,
} from '../../../src/platform/outbox/dispatcher.ts';
import { openEngine, type Engine } from '../../../src/platform/temporal/connection.ts';
import type { OutboxEntry } from '../../../src/platform/temporal/contract.ts';
import { ensureSearchAttributes } from '../../../src/platform/temporal/prepare.ts';
import { startWorkflow } from '../../../src/platform/temporal/start.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { useEngine } from '../../support/engine.ts';
import { testPulse } from '../../support/pulse.ts';
import { until } from '../../workflows/until.ts';
import { createOwnEngine } from './own-engine.ts';

const log = pino({ level: 'silent' });

let db: TestDatabase;
let waker: Waker;
let engine: Engine;
const dispatchers: Dispatcher[] = [];

function dispatch(on: Engine = engine, rest: Partial<DispatcherDependencies> = {}): Dispatcher {
  const dispatcher = createDispatcher({
    ...{ database: db.database, client: on.client, waker, log },
    pulse: testPulse(db.database.pool),
    ...rest,
  });
  dispatchers.push(dispatcher);
  return dispatcher;
}

async function append(...entries: OutboxEntry[]): Promise<void> {
  await inTransaction(db.database.pool, (client) => appendToOutbox(client, entries));
}

async function rowCount(): Promise<number> {
  const { rows } = await db.database.pool.query<{ count: number }>('select count(*) from outbox');
  return rows[0]?.count ?? -1;
}

const emptied = () => until(async () => (await rowCount()) === 0);

async function historyOf(workflowId: string, on: Engine = engine) {
  const { events } = await on.client.workflow.getHandle(workflowId).fetchHistory();
  return events ?? [];
}

const poke = (workflowId: string, ...signalInput: unknown[]): OutboxEntry => ({
  kind: 'signal_with_start',
  workflowType: 'noWorkerRunsThis',
  workflowId,
  input: [{ id: 7 }],
  signal: 'poke',
  signalInput,
});

beforeAll(async () => {
  const test = await useEngine();
  db = await createTestDatabase();
  waker = createWaker({ url: db.url });
  engine = openEngine(loadConfig({ TEMPORAL_ADDRESS: test.address, TEMPORAL_NAMESPACE: test.namespace }));
}, 120_000);

afterEach(async () => {
  for (const dispatcher of dispatchers.splice(0)) await dispatcher.stop();
  await db.database.pool.query('delete from outbox');
});

afterAll(async () => {
  await engine.close();
  await waker.close();
  await db.drop();
});

describe('the outbox', () => {
  it('sends a committed request, with everything an operator reads', async () => {
    await append({
      kind: 'start',
      workflowType: 'noWorkerRunsThis',
      workflowId: 'complete/1',
      taskQueue: 'bulk',
      input: [{ id: 7 }],
      searchAttributes: { AccountId: 3, WebhookId: 7 },
      summary: 'A summary',
      details: 'Some details',
    });
    dispatch();
    await emptied();
    const found = await engine.client.workflow.getHandle('complete/1').describe();
    expect(found).toMatchObject({ type: 'noWorkerRunsThis', taskQueue: 'bulk' });
    expect(await found.staticSummary()).toBe('A summary');
    expect(await found.staticDetails()).toBe('Some details');
    const attributes = found.typedSearchAttributes.getAll();
    expect(attributes.sort((one, other) => one.key.name.localeCompare(other.key.name))).toEqual([
      { key: { name: 'AccountId', type: 'KEYWORD' }, value: '3' },
      { key: { name: 'WebhookId', type: 'KEYWORD' }, value: '7' },
    ]);
  });

  it('sends nothing from a transaction that was rolled back', async () => {
    const failing = inTransaction(db.database.pool, async (client) => {
      await appendToOutbox(client, poke('rolled-back/1'));
      throw new Error('no');
    });
    await expect(failing).rejects.toThrow('no');
    expect(await rowCount()).toBe(0);
  });

  it('sends when it is woken, without waiting for the next poll', async () => {
    dispatch(engine, { pulse: testPulse(db.database.pool, { intervalMs: 600_000 }) });
    for (let n = 0; n < 3; n += 1) {
      await append(poke(`woken/${n}`));
      waker.wake('outbox');
      await emptied();
    }
  });

  it('sends by polling if it is not woken', async () => {
    dispatch();
    await append(poke('polled/1'));
    await emptied();
    await append(poke('polled/2'));
    await emptied();
  });

  it('does no harm if a dispatcher dies between sending and deleting', async () => {
    const entry = poke('died/1') as Extract<OutboxEntry, { kind: 'signal_with_start' }>;
    await append(entry);
    await claimEntries(db.database.pool, 10, 0);
    await startWorkflow(engine.client, entry);
    const before = await engine.client.workflow.getHandle('died/1').describe();
    dispatch();
    await emptied();
    const after = await engine.client.workflow.getHandle('died/1').describe();
    expect(after.runId).toBe(before.runId);
  });

  it('leaves entries leased by another dispatcher until the lease ends', async () => {
    await append(poke('leased/1'));
    expect(await claimEntries(db.database.pool, 10, 3)).toHaveLength(1);
    expect(await claimEntries(db.database.pool, 10, 3)).toHaveLength(0);
    dispatch();
    await append(poke('not-leased/1'));
    waker.wake('outbox');
    await until(async () => (await rowCount()) === 1);
    await emptied();
  });

  it('sends equal entries once', async () => {
    await append(...Array.from({ length: 40 }, () => poke('merged/1')), poke('merged/1', 'other'));
    dispatch();
    await emptied();
    const signals = (await historyOf('merged/1')).filter(
      (event) => event.workflowExecutionSignaledEventAttributes,
    );
    expect(signals).toHaveLength(2);
  });

  it('shares the work with other dispatchers, so that each entry is sent once', async () => {
    await append(...Array.from({ length: 200 }, (_, n) => poke(`shared/${n % 10}`, n)));
    for (let n = 0; n < 3; n += 1) dispatch();
    await emptied();
    const histories = await Promise.all(Array.from({ length: 10 }, (_, n) => historyOf(`shared/${n}`)));
    const signals = histories.flat().filter((event) => event.workflowExecutionSignaledEventAttributes);
    expect(signals).toHaveLength(200);
  });

  it('drops a signal to a workflow that is gone', async () => {
    await append({ kind: 'signal', workflowId: 'gone/1', signal: 'poke' });
    dispatch();
    await emptied();
  });

  it('keeps a refused entry with the reason, and sends the others', async () => {
    let refusals = 0;
    await append(poke('x'.repeat(2_000)), poke('good/1'));
    dispatch(engine, { onRefused: () => (refusals += 1) });
    await until(async () => (await rowCount()) === 1 && refusals > 0);
    const { rows } = await db.database.pool.query('select attempt_count, last_error from outbox');
    expect(rows[0]).toMatchObject({ attempt_count: 1, last_error: expect.stringContaining('ength') });
  });

  it('waits while the engine is unavailable without counting attempts, then sends everything', async () => {
    const own = await createOwnEngine();
    const unavailable = openEngine(loadConfig({ TEMPORAL_ADDRESS: own.address }));
    try {
      await append(...Array.from({ length: 100 }, (_, n) => poke(`patient/${n}`)));
      dispatch(unavailable);
      await until(async () => {
        const { rows } = await db.database.pool.query<{ free: number }>(
          'select count(*) as free from outbox where leased_until is null and attempt_count = 0',
        );
        return rows[0]?.free === 100;
      });
      await own.start();
      await emptied();
      expect(await historyOf('patient/99', unavailable)).not.toHaveLength(0);
    } finally {
      await own.close();
      await unavailable.close();
    }
  }, 90_000);

  it('sends again after another dispatcher has sent what it could not', async () => {
    const { pool } = db.database;
    const own = await createOwnEngine();
    const unavailable = openEngine(loadConfig({ TEMPORAL_ADDRESS: own.address }));
    await pool.query(`
      create table claims (n serial);
      create function note_claim() returns trigger language plpgsql as
        $$ begin insert into claims default values; return null; end $$;
      create trigger note_claim after update on outbox for each statement execute function note_claim()`);
    const count = async () => Number((await pool.query('select count(*) as n from claims')).rows[0]?.n);
    try {
      await append(poke('taken/1'));
      dispatch(unavailable);
      // A claim and a release for each try.
      await until(async () => (await count()) >= 4);
      await pool.query('delete from outbox');
      const before = await count();
      await until(async () => (await count()) > before + 2);
      await own.start();
      await append(poke('taken/2'));
      await emptied();
    } finally {
      await pool.query('drop function note_claim cascade; drop table claims');
      await own.close();
      await unavailable.close();
    }
  }, 90_000);

  it('sends a refused entry again after the search attributes are registered', async () => {
    const own = await createOwnEngine();
    const fresh = openEngine(loadConfig({ TEMPORAL_ADDRESS: own.address }));
    try {
      await own.start();
      await append({ ...poke('attributed/1'), searchAttributes: { AccountId: 3 } } as OutboxEntry);
      dispatch(fresh, { onRefused: () => void ensureSearchAttributes(fresh, log) });
      await emptied();
    } finally {
      await own.close();
      await fresh.close();
    }
  }, 90_000);
});
