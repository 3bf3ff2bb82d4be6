import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import type { Queryable } from '../db/queryable.ts';
import { repeat } from '../processes/repeat.ts';
import { callEngine, type EngineClient, isRefusal, reasonOf } from '../temporal/connection.ts';
import { startWorkflow, workflowRuns } from '../temporal/start.ts';
import type { ExpectedWorkflow, WorkflowSource } from './expected-workflows.ts';

/** @returns the namespace's id as the engine last said it, or null before its first time */
export async function recallNamespace(client: Queryable): Promise<string | null> {
  const { rows } = await client.query<{ namespace_id: string }>('select namespace_id from engine_state');
  return rows[0]?.namespace_id ?? null;
}

export async function rememberNamespace(client: Queryable, namespaceId: string): Promise<void> {
  await client.query(
    `insert into engine_state (namespace_id) values ($1)
     on conflict (id) do update set namespace_id = excluded.namespace_id, seen_at = now()`,
    [namespaceId],
  );
}

const ROUND_MS = 5_000;
const PAGE = 100;
const FORGOTTEN_PAGE = 1_000;
const PARALLEL = 8;
/** How long a workflow that was found running, or was just started, is left alone. */
const GRACE_SECONDS = 60;
/** The same for one that the engine refused to start. */
const REFUSED_SECONDS = 10;

export interface ReconcilerDependencies {
  database: Database;
  client: EngineClient;
  /** Of the engine; see `Engine.namespaceId`. */
  namespaceId: () => Promise<string>;
  sources: readonly WorkflowSource[];
  log: Logger;
  /** Makes an engine that we have not met ready for our workflows, before any is started. */
  prepare: () => Promise<void>;
}

export interface Reconciler {
  stop(): Promise<void>;
}

/** @returns for how many seconds the row needs no further look */
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
    deps.log.warn(fields, 'a workflow was gone and is started again');
    return GRACE_SECONDS;
  } catch (error) {
    // One that the engine refuses must not hold up the others.
    if (!isRefusal(error)) throw error;
    deps.log.error({ ...fields, problem: reasonOf(error) }, 'a workflow cannot be started');
    return REFUSED_SECONDS;
  }
}

async function restorePage(
  deps: ReconcilerDependencies,
  source: WorkflowSource,
  page: ExpectedWorkflow[],
): Promise<void> {
  const waiting = [...page];
  const done = new Map<number, number[]>();
  const restoreNext = async () => {
    for (let expected = waiting.shift(); expected; expected = waiting.shift()) {
      const seconds = await restoreOne(deps, source, expected);
      done.set(seconds, [...(done.get(seconds) ?? []), expected.rowId]);
    }
  };
  const results = await Promise.allSettled(Array.from({ length: PARALLEL }, restoreNext));
  for (const [seconds, rowIds] of done) {
    await source.postpone(deps.database.pool, rowIds, new Date(Date.now() + seconds * 1_000));
  }
  const failed = results.find((result) => result.status === 'rejected');
  if (failed) throw failed.reason;
}

async function restoreOverdue(deps: ReconcilerDependencies, source: WorkflowSource): Promise<void> {
  for (;;) {
    const page = await source.overdue(deps.database.pool, new Date(), PAGE);
    if (page.length > 0) await restorePage(deps, source, page);
    if (page.length < PAGE) return;
  }
}

/**
 * Where the namespace is not the one remembered, every row that needs a workflow is made overdue. The new id is
 * written last, so that a crash on the way begins again.
 */
async function noticeForgotten(deps: ReconcilerDependencies): Promise<void> {
  const namespaceId = await deps.namespaceId();
  const remembered = await recallNamespace(deps.database.pool);
  if (remembered === namespaceId) return;
  await deps.prepare();
  if (remembered !== null) {
    deps.log.warn(
      { remembered, found: namespaceId },
      'the engine is a new one: every workflow is looked for',
    );
    for (const source of deps.sources) {
      while ((await source.expectNow(deps.database.pool, new Date(), FORGOTTEN_PAGE)) > 0);
    }
  }
  await rememberNamespace(deps.database.pool, namespaceId);
}

/** One look at everything. @throws where the engine or the database is away */
export async function reconcile(deps: ReconcilerDependencies): Promise<void> {
  await noticeForgotten(deps);
  for (const source of deps.sources) await restoreOverdue(deps, source);
}

/**
 * Start again the workflows that rows need and the engine has not. Driven by PostgreSQL, not by the engine, which
 * may have lost them all. Any number of reconcilers may run.
 */
export function createReconciler(deps: ReconcilerDependencies): Reconciler {
  let away = false;
  const round = async (): Promise<number> => {
    try {
      await reconcile(deps);
      away = false;
    } catch (error) {
      if (!away) deps.log.warn({ err: error }, 'reconciling waits until the engine is back');
      away = true;
    }
    return ROUND_MS;
  };
  return repeat(round, { log: deps.log, name: 'reconciling' });
}
