import { WorkflowNotFoundError, type Client, type WorkflowExecutionStatusName } from '@temporalio/client';
import type { Logger } from 'pino';
import type { Database } from '../db/database.ts';
import { callEngine, isRefusal } from '../temporal/connection.ts';
import { startWorkflow } from '../temporal/start.ts';
import { recallNamespace, rememberNamespace } from './engine-state.ts';
import { repeat } from './repeating.ts';
import type { ExpectedWorkflow, WorkflowSource } from './source.ts';

const ROUND_MS = 5_000;
const PAGE = 100;
const FORGOTTEN_PAGE = 1_000;
const PARALLEL = 8;
/** How long a workflow that was found running, or was just started, is left alone. */
const GRACE_SECONDS = 60;

/** A workflow in any of these is over: it does nothing more for its row. */
const closed = new Set<WorkflowExecutionStatusName>([
  'COMPLETED',
  'FAILED',
  'CANCELLED',
  'TERMINATED',
  'TIMED_OUT',
]);

export interface ReconcilerDependencies {
  database: Database;
  client: Client;
  /** Of the engine; see `Engine.namespaceId`. */
  namespaceId: () => Promise<string>;
  sources: WorkflowSource[];
  log: Logger;
  /** Called when the engine is found to have forgotten everything. */
  onForgotten?: () => Promise<void>;
}

export interface Reconciler {
  stop(): Promise<void>;
}

async function runs(client: Client, workflowId: string): Promise<boolean> {
  try {
    const { status } = await callEngine(client, () => client.workflow.getHandle(workflowId).describe());
    return !closed.has(status.name);
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

/** @returns whether the row needs no further look now */
async function restoreOne(
  deps: ReconcilerDependencies,
  source: WorkflowSource,
  expected: ExpectedWorkflow,
): Promise<void> {
  const { workflowId } = expected.start;
  if (await runs(deps.client, workflowId)) return;
  try {
    await callEngine(deps.client, () => startWorkflow(deps.client, expected.start));
    deps.log.warn(
      { source: source.name, workflow_id: workflowId },
      'a workflow was gone and is started again',
    );
  } catch (error) {
    // One that the engine refuses must not hold up the others; it is tried again after the grace.
    if (!isRefusal(error)) throw error;
    deps.log.error(
      { err: error, source: source.name, workflow_id: workflowId },
      'a workflow cannot be started',
    );
  }
}

async function restorePage(
  deps: ReconcilerDependencies,
  source: WorkflowSource,
  page: ExpectedWorkflow[],
): Promise<void> {
  const waiting = [...page];
  const done: number[] = [];
  const restoreNext = async () => {
    for (let expected = waiting.shift(); expected; expected = waiting.shift()) {
      await restoreOne(deps, source, expected);
      done.push(expected.rowId);
    }
  };
  const results = await Promise.allSettled(Array.from({ length: PARALLEL }, restoreNext));
  const until = new Date(Date.now() + GRACE_SECONDS * 1_000);
  if (done.length > 0) await source.postpone(deps.database.pool, done, until);
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
  if (remembered !== null) {
    deps.log.warn(
      { remembered, found: namespaceId },
      'the engine is a new one: every workflow is looked for',
    );
    await deps.onForgotten?.();
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
