// The reconciler restarts the missing workflow of every overdue row, also in an engine that lost its data.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { loadConfig } from '../../../src/config.ts';
import type { Queryable } from '../../../src/platform/db/queryable.ts';
import { appendToOutbox } from '../../../src/platform/outbox/append.ts';
import type { ExpectedWorkflow, WorkflowSource } from '../../../src/platform/outbox/expected-workflows.ts';
import { reconcile, type ReconcilerDependencies } from '../../../src/platform/outbox/reconciler.ts';
import { openEngine, type Engine } from '../../../src/platform/temporal/connection.ts';
import { startWorkflow } from '../../../src/platform/temporal/start.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { useEngine } from '../../support/engine.ts';

const log = pino({ level: 'silent' });
const HOUR_MS = 3_600_000;

let db: TestDatabase;
let engine: Engine;
let deps: ReconcilerDependencies;

const idOf = (rowId: number) => `thing/${rowId}`;
const startOf = (rowId: number) => ({
  workflowType: 'noWorkerRunsThis',
  workflowId: idOf(rowId),
  input: [rowId],
});

/** Rows such as a feature has. */
const things: WorkflowSource = {
  name: 'thing',
  overdueSql: 'exists (select from things where not final and engine_expected_by <= $1)',
  async overdue(client, asOf, limit): Promise<ExpectedWorkflow[]> {
    const { rows } = await client.query<{ id: number }>(
      `select id from things where not final and engine_expected_by <= $1 order by engine_expected_by limit $2`,
      [asOf, limit],
    );
    return rows.map(({ id }) => ({ rowId: id, start: startOf(id) }));
  },
  async postpone(client, rowIds, until) {
    await client.query(
      `update things set engine_expected_by = greatest(engine_expected_by, $2) where id = any ($1) and not final`,
      [rowIds, until],
    );
  },
  async expectNow(client: Queryable, asOf, limit) {
    const { rowCount } = await client.query(
      `update things set engine_expected_by = $1 where id in (
         select id from things where not final and engine_expected_by > $1 limit $2)`,
      [asOf, limit],
    );
    return rowCount ?? 0;
  },
};

async function insert(id: number, expectedInMs: number, final = false): Promise<void> {
  const by = new Date(Date.now() + expectedInMs);
  await db.database.pool.query('insert into things values ($1, $2, $3)', [id, final, by]);
}

async function runOf(rowId: number): Promise<string | null> {
  try {
    const found = await engine.client.workflow.getHandle(idOf(rowId)).describe();
    return found.status.name === 'RUNNING' ? found.runId : null;
  } catch {
    return null;
  }
}

async function end(rowId: number): Promise<void> {
  await engine.client.workflow.getHandle(idOf(rowId)).terminate();
}

async function expectedBy(id: number): Promise<number> {
  const { rows } = await db.database.pool.query<{ engine_expected_by: Date }>(
    'select engine_expected_by from things where id = $1',
    [id],
  );
  return rows[0]?.engine_expected_by.getTime() ?? 0;
}

let next = 0;

beforeAll(async () => {
  const test = await useEngine();
  db = await createTestDatabase();
  await db.database.pool.query(
    'create table things (id bigint primary key, final boolean not null, engine_expected_by timestamptz)',
  );
  engine = openEngine(loadConfig({ TEMPORAL_ADDRESS: test.address, TEMPORAL_NAMESPACE: test.namespace }));
  deps = {
    database: db.database,
    client: engine.client,
    namespaceId: () => engine.namespaceId(),
    sources: [things],
    prepare: async () => undefined,
    log,
  };
}, 120_000);

beforeEach(async () => {
  next += 1_000;
  await db.database.pool.query('delete from things; delete from engine_state; delete from outbox');
});

afterAll(async () => {
  await engine.close();
  await db.drop();
});

describe('the reconciler', () => {
  it('starts the workflow of an overdue row, and again after that workflow was terminated', async () => {
    await insert(next, -1_000);
    await reconcile(deps);
    const first = await runOf(next);
    expect(first).not.toBeNull();
    await end(next);
    await db.database.pool.query('update things set engine_expected_by = now()');
    await reconcile(deps);
    expect(await runOf(next)).not.toBeNull();
    expect(await runOf(next)).not.toBe(first);
  });

  it('leaves a running workflow alone, and checks it again a minute later', async () => {
    await startWorkflow(engine.client, startOf(next));
    const run = await runOf(next);
    await insert(next, -1_000);
    await reconcile(deps);
    expect(await runOf(next)).toBe(run);
    expect(await expectedBy(next)).toBeGreaterThan(Date.now() + 50_000);
  });

  it('ignores rows that are final or not overdue', async () => {
    await insert(next, -1_000, true);
    await insert(next + 1, HOUR_MS);
    await reconcile(deps);
    expect([await runOf(next), await runOf(next + 1)]).toEqual([null, null]);
  });

  it('checks every row that is not final if the engine is a new one', async () => {
    await reconcile(deps);
    await insert(next, HOUR_MS);
    await insert(next + 1, HOUR_MS, true);
    await db.database.pool.query(`update engine_state set namespace_id = 'an earlier one'`);
    let prepared = 0;
    await reconcile({ ...deps, prepare: async () => void (prepared += 1) });
    expect(await runOf(next)).not.toBeNull();
    expect(await runOf(next + 1)).toBeNull();
    expect(prepared).toBe(1);
    await reconcile({ ...deps, prepare: async () => void (prepared += 1) });
    expect(prepared).toBe(1);
  });

  it('repeats an interrupted check of a new engine', async () => {
    await reconcile(deps);
    await insert(next, HOUR_MS);
    await db.database.pool.query(`update engine_state set namespace_id = 'an earlier one'`);
    const interrupted = { ...things, expectNow: () => Promise.reject(new Error('interrupted')) };
    await expect(reconcile({ ...deps, sources: [interrupted] })).rejects.toThrow('interrupted');
    expect(await runOf(next)).toBeNull();
    await reconcile(deps);
    expect(await runOf(next)).not.toBeNull();
  });

  it('reads more than one page, and continues after a workflow that the engine refuses', async () => {
    for (let id = next; id < next + 130; id += 1) await insert(id, -1_000);
    const refused: WorkflowSource = {
      ...things,
      overdue: async (client, asOf, limit) =>
        (await things.overdue(client, asOf, limit)).map((row) =>
          row.rowId === next ? { ...row, start: { ...row.start, workflowType: 'x'.repeat(2_000) } } : row,
        ),
    };
    while (await reconcile({ ...deps, sources: [refused] }));
    expect(await runOf(next)).toBeNull();
    expect(await runOf(next + 1)).not.toBeNull();
    expect(await runOf(next + 129)).not.toBeNull();
  });

  it('looks at other rows before the second page of one kind', async () => {
    for (let id = next; id < next + 130; id += 1) await insert(id, -1_000);
    let looks = 0;
    const other: WorkflowSource = {
      ...things,
      overdueSql: 'true',
      overdue: async () => {
        looks += 1;
        return [];
      },
    };
    expect(await reconcile({ ...deps, sources: [things, other] })).toBe(true);
    expect(looks).toBe(1);
    expect(await runOf(next + 100)).toBeNull();
    expect(await reconcile({ ...deps, sources: [things, other] })).toBe(false);
    expect(await runOf(next + 100)).not.toBeNull();
  });

  it('leaves workflows whose start still waits in the outbox to the dispatcher', async () => {
    await insert(next, -1_000);
    await insert(next + 1, -1_000);
    await appendToOutbox(db.database.pool, { kind: 'start', ...startOf(next) }, 2);
    await reconcile(deps);
    expect(await runOf(next)).toBeNull();
    expect(await runOf(next + 1)).not.toBeNull();
    expect(await expectedBy(next)).toBeGreaterThan(Date.now() + 300_000);
  });
});
