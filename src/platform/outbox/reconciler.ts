import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import type { Queryable } from '../db/queryable.ts';
import { conditionsStatement } from '../processes/pulse.ts';
import { repeat } from '../processes/repeat.ts';
import { callEngine, type EngineClient, isRefusal, reasonOf } from '../temporal/connection.ts';
import { startWorkflow, workflowRuns } from '../temporal/start.ts';
import { awaitingStart } from './backlog.ts';
import type { ExpectedWorkflow, WorkflowSource } from './expected-workflows.ts';

const ROUND_MS = 5_000;
const PAGE_ROWS = 100;
/** Number of rows that one statement makes overdue after the engine lost its data. */
const LOST_PAGE_ROWS = 1_000;
const PARALLEL = 8;
/** How long a workflow that was found running, or was just started, is not checked again. */
const GRACE_SECONDS = 60;
/** How long a workflow that the engine refused to start is not checked again. */
const REFUSED_SECONDS = 10;
/**
 * How long a workflow whose start waits in the outbox is not checked again. The dispatcher retries the start until it
 * succeeds.
 */
const WAITING_SECONDS = 600;

export interface ReconcilerDependencies {
  database: Database;
  client: EngineClient;
  /** See `Engine.namespaceId`. */
  namespaceId: () => Promise<string>;
  sources: readonly WorkflowSource[];
  log: Logger;
  /** Prepares a new engine for our workflows before any of them starts. */
  prepare: () => Promise<void>;
}

export interface Reconciler {
  stop(): Promise<void>;
}

interface Look {
  /** The id of the namespace as last stored; null before the first time. */
  namespaceId: string | null;
  /** The sources with overdue rows. */
  overdue: WorkflowSource[];
}

/** Looks with one statement for all sources, because there are rarely any overdue rows. */
async function look({ database, sources }: ReconcilerDependencies): Promise<Look> {
  const { rows } = await database.pool.query<{ are: boolean[]; namespace_id: string | null }>({
    ...conditionsStatement(
      sources.map(({ overdueSql }) => overdueSql),
      ', $1::timestamptz as at, (select namespace_id from engine_state) as namespace_id',
    ),
    values: [new Date()],
  });
  return {
    namespaceId: rows[0]?.namespace_id ?? null,
    overdue: sources.filter((_, n) => rows[0]?.are[n]),
  };
}

async function storeNamespace(client: Queryable, namespaceId: string): Promise<void> {
  await client.query(
    `insert into engine_state (namespace_id) values ($1)
     on conflict (id) do update set namespace_id = excluded.namespace_id, seen_at = now()`,
    [namespaceId],
  );
}

/** @returns for how many seconds the row needs no further check */
async function restoreOne(
  deps: ReconcilerDependencies,
  source: WorkflowSource,
  expected: ExpectedWorkflow,
): Promise<number> {
  const { workflowId } = expected.start;
  if (await callEngine(deps.client, () => workflowRuns(deps.client, workflowId))) return GRACE_SECONDS;
  const fields = { source: source.name, workflow_id: workflowId };
  try {
    await callEngine(deps.client, () => startWorkflow(deps.client, expected.start));
    deps.log.warn(fields, 'started a workflow that the engine had lost');
    return GRACE_SECONDS;
  } catch (error) {
    // A workflow that the engine refuses must not delay the others.
    if (!isRefusal(error)) throw error;
    deps.log.error({ ...fields, problem: reasonOf(error) }, 'cannot start a workflow');
    return REFUSED_SECONDS;
  }
}

async function restorePage(
  deps: ReconcilerDependencies,
  source: WorkflowSource,
  page: ExpectedWorkflow[],
): Promise<void> {
  const { pool } = deps.database;
  const inOutbox = await awaitingStart(
    pool,
    page.map(({ start }) => start.workflowId),
  );
  const waiting = page.filter(({ start }) => !inOutbox.has(start.workflowId));
  const left = page.filter(({ start }) => inOutbox.has(start.workflowId));
  const done = new Map<number, number[]>();
  if (left.length > 0) {
    done.set(
      WAITING_SECONDS,
      left.map(({ rowId }) => rowId),
    );
  }
  const restoreAll = async () => {
    for (let expected = waiting.shift(); expected; expected = waiting.shift()) {
      const seconds = await restoreOne(deps, source, expected);
      done.set(seconds, [...(done.get(seconds) ?? []), expected.rowId]);
    }
  };
  const results = await Promise.allSettled(Array.from({ length: PARALLEL }, restoreAll));
  for (const [seconds, rowIds] of done) {
    await source.postpone(pool, rowIds, new Date(Date.now() + seconds * 1_000));
  }
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

/** @returns whether there may be another page */
async function restoreOverdue(deps: ReconcilerDependencies, source: WorkflowSource): Promise<boolean> {
  const page = await source.overdue(deps.database.pool, new Date(), PAGE_ROWS);
  if (page.length > 0) await restorePage(deps, source, page);
  return page.length === PAGE_ROWS;
}

/**
 * Makes every row that needs a workflow overdue, because the namespace has a new id: the engine lost its data. The new
 * id is stored last, so that all of this is repeated after a crash.
 * @param known the id of the former namespace; null if this is the first one
 */
async function takeUpNamespace(
  deps: ReconcilerDependencies,
  known: string | null,
  found: string,
): Promise<void> {
  await deps.prepare();
  if (known !== null) {
    deps.log.warn({ known, found }, 'the engine is new: checking every workflow');
    for (const source of deps.sources) {
      while ((await source.expectNow(deps.database.pool, new Date(), LOST_PAGE_ROWS)) > 0);
    }
  }
  await storeNamespace(deps.database.pool, found);
}

/**
 * Checks one page of each source, so that a source with thousands of overdue rows does not delay the others.
 * @returns whether a source may have another page
 * @throws if the engine or the database is unavailable
 */
export async function reconcile(deps: ReconcilerDependencies): Promise<boolean> {
  const namespaceId = await deps.namespaceId();
  let found = await look(deps);
  if (found.namespaceId !== namespaceId) {
    await takeUpNamespace(deps, found.namespaceId, namespaceId);
    found = await look(deps);
  }
  let hasMore = false;
  for (const source of found.overdue) {
    if (await restoreOverdue(deps, source)) hasMore = true;
  }
  return hasMore;
}

/**
 * Starts the workflows that rows need but the engine does not have. The rows in PostgreSQL decide, because the engine
 * may have lost all of its data. Any number of reconcilers may run at once.
 */
export function createReconciler(deps: ReconcilerDependencies): Reconciler {
  let failing = false;
  const round = async (): Promise<number> => {
    try {
      const hasMore = await reconcile(deps);
      failing = false;
      if (hasMore) return 0;
    } catch (error) {
      if (!failing) deps.log.warn({ err: error }, 'cannot reconcile: retrying');
      failing = true;
    }
    return ROUND_MS;
  };
  return repeat(round, { log: deps.log, name: 'reconciling' });
}
