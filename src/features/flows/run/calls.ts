/** Runs at webhook steps: which of them is called, and what their rows keep of the requests. */
import type pg from 'pg';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { runOfFlowColumns } from '../cohorts/wakes.ts';
import {
  type Answer,
  type CallingRun as RunAtWebhook,
  requestWebhook,
  type WebhookRequestDeps,
} from '../steps/webhook-request.ts';
import type { FlowVersionReader } from '../versions.ts';
import type { RunOfFlow } from '../workflow.ts';
import { findStep } from './interpreter.ts';

/** Backoff after each failed attempt, in ms. The step has failed if the attempt after the last one fails, too. */
const RETRY_MS = [60_000, 330_000, 1_800_000] as const;

/** The same as a simulation assumes by default. */
const TEST_ANSWER: Answer = { outcome: 'done', detail: { status: 200, body: null } };

/** The request has failed and must be retried. The message contains no data of the contact. */
export class WebhookStepRetryError extends Error {
  readonly delayMs: number;

  constructor(reason: string, delayMs: number) {
    super(reason);
    this.delayMs = delayMs;
  }
}

/** An active run that waits for the response of its step. */
export interface CallingRun extends RunOfFlow, RunAtWebhook {
  version_id: number;
  step_id: number;
  /** Number of failed attempts. */
  call_failures: number;
}

/** The columns of a {@link CallingRun}. @param run alias of `flow_runs` */
export const callingRunColumns = (run: string) =>
  `${runOfFlowColumns(run)}, ${run}.version_id, ${run}.step_id, ${run}.event, ${run}.test, ${run}.call_failures`;

/** SQL: whether a run is called: it has no response to its step yet, and its contact exists. @param run its alias */
export const isCalledSql = (run: string) =>
  `(exists (select 1 from contacts c where c.id = ${run}.contact_id)
   and not exists (select 1 from flow_run_steps s where s.run_id = ${run}.id and s.step_id = ${run}.step_id))`;

/**
 * Reads a run that is at the step and has no response yet. A process of the version before may ask for a run of a cohort,
 * which its cohort calls.
 * @returns null if there is nothing to call
 */
async function readCallingRun(db: Queryable, runId: number, stepId: number): Promise<CallingRun | null> {
  const { rows } = await db.query<CallingRun>({
    name: 'read_calling_run_of_flow_2',
    text: `
      select ${callingRunColumns('r')} from flow_runs r join flows f on f.id = r.flow_id
      where r.id = $1 and r.state = 'active' and r.step_id = $2 and r.waits_for = 'webhook' and f.status = 'active'
        and r.cohort_id is null and ${isCalledSql('r')}`,
    values: [runId, stepId],
  });
  return rows[0] ?? null;
}

/**
 * Stores the output for the next transaction of the run, if the run is still at the step. A run of a cohort becomes
 * due: its clock sees that by `waits_for`.
 */
async function storeAnswer(db: Queryable, run: CallingRun, answer: Answer, asOf: Date): Promise<void> {
  await db.query({
    name: 'store_flow_answer',
    text: `
      with run as (
        update flow_runs set call_failures = 0, call_at = null, retry_at = null, failures = 0,
          waits_for = case when cohort_id is null or waits_for <> 'webhook' then waits_for end
        where id = $1 and state = 'active' and step_id = $2
        returning id, flow_id
      )
      insert into flow_run_steps (run_id, flow_id, step_id, n, type, outcome, detail, entered_at)
      select id, flow_id, $2, 0, 'webhook', $3, $4, $5 from run
      on conflict do nothing`,
    values: [run.id, run.step_id, answer.outcome, JSON.stringify(answer.detail), asOf],
  });
}

/**
 * Counts a failed attempt, so that a pause or a restart does not reset the attempts.
 * @param nextAt when a run of a cohort is called again; the workflow of any other run knows that itself
 */
async function countFailure(db: Queryable, { id, step_id: stepId }: CallingRun, nextAt: Date): Promise<void> {
  await db.query({
    name: 'count_failed_call_of_flow',
    text: `
      update flow_runs set call_failures = call_failures + 1, retry_at = null, failures = 0,
        call_at = case when cohort_id is not null then $3::timestamptz end
      where id = $1 and state = 'active' and step_id = $2`,
    values: [id, stepId, nextAt],
  });
}

export interface CallDeps extends WebhookRequestDeps {
  pool: pg.Pool;
  versions: FlowVersionReader;
}

/** What became of a call: the response is stored, the attempt failed and is repeated, or the step makes no request. */
export type Called = 'stored' | 'no_call' | { failed: string; retryMs: number };

/**
 * Makes one attempt for a run, and stores its result. Test runs make no request: test keys, which many people can read,
 * can start test runs of live flows. A request interrupted by a crash is repeated with the same `webhook-id`.
 * @param now the time by the clock of the run
 * @throws CallWaitsError if it was not made because too many are under way
 */
export async function callRun(deps: CallDeps, run: CallingRun, now: () => Date): Promise<Called> {
  const { pool, versions } = deps;
  const step = findStep((await versions(run.version_id)).steps, run.step_id);
  if (step?.type !== 'webhook') return 'no_call';
  if (run.test) {
    await storeAnswer(pool, run, TEST_ANSWER, now());
    return 'stored';
  }
  const { answer, isFinal } = await requestWebhook(deps, run, step, run.cohort_id !== null);
  const retryMs = RETRY_MS[run.call_failures];
  if (!isFinal && retryMs !== undefined) {
    await countFailure(pool, run, new Date(now().getTime() + retryMs));
    return { failed: answer.detail.error ?? 'the request has failed', retryMs };
  }
  await storeAnswer(pool, run, answer, now());
  return 'stored';
}

/**
 * Makes an attempt for a run with a workflow of its own, unless the run has left the step or its flow is paused.
 * @throws WebhookStepRetryError if the request has failed and must be retried
 * @throws CallWaitsError if it was not made because too many are under way
 */
export async function callWebhook(deps: CallDeps, runId: number, stepId: number, asOf: Date): Promise<void> {
  const run = await readCallingRun(deps.pool, runId, stepId);
  const called = run && (await callRun(deps, run, () => asOf));
  if (called !== null && typeof called === 'object')
    throw new WebhookStepRetryError(called.failed, called.retryMs);
}
