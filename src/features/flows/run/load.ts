/** Reads what the transaction of a run needs first: the run, its flow and its contact, in one statement. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { CausingMail } from '../../contact-events/service.ts';
import type { FlowStatus } from '../model.ts';
import type { QuietHours } from './quiet-hours.ts';

/** The event that started a run, as `flow_runs.event` stores it. */
export interface CauseEvent {
  id: number;
  name: string;
  data: Readonly<Record<string, unknown>> | null;
  /** ISO 8601. */
  created_at: string;
  /** The mail that caused it, itself or through flows; absent: none did. */
  mail?: CausingMail;
}

/** What an active run waits for; null if a step is due. */
export type WaitsFor = 'time' | 'event' | 'webhook' | 'quiet_hours' | 'resume';

export type RunStateName = 'active' | 'completed' | 'exited' | 'canceled';

/** A row of `flow_runs`, with the columns of its flow, brand and contact that steps need. */
export interface LoadedRun {
  id: number;
  account_id: number;
  brand_id: number;
  flow_id: number;
  version_id: number;
  contact_id: number;
  cause: string;
  event: CauseEvent | null;
  test: boolean;
  chain_depth: number;
  state: RunStateName;
  reason: string | null;
  /** See `readRecord`. */
  record: unknown;
  moved: boolean;
  waits_for: WaitsFor | null;
  due_at: Date | null;
  engine_expected_by: Date | null;
  updated_at: Date;
  /** Null if the run has a workflow of its own. */
  cohort_id: number | null;
  retry_at: Date | null;
  flow_status: FlowStatus;
  quiet_hours: QuietHours | null;
  /** Whether the brand has a frequency cap. */
  capped: boolean;
  contact_exists: boolean;
}

/** Statement time-out of a run's transaction, in ms. After it the run tries again later, so that others go first. */
const STATEMENT_MS = 5_000;

/** SQL: reads runs. @param which a condition on `r`, whose parameter is $1 @param lock how their rows are locked */
const lockSql = (which: string, lock: string) => `
  select r.id, r.account_id, r.brand_id, r.flow_id, r.version_id, r.contact_id, r.cause, r.event, r.test,
    r.chain_depth, r.state, r.reason, r.record, r.moved, r.waits_for, r.due_at, r.engine_expected_by, r.updated_at,
    r.cohort_id, r.retry_at, set_config('statement_timeout', '${STATEMENT_MS}', true),
    f.status as flow_status, b.quiet_hours, b.frequency_cap is not null as capped, c.id is not null as contact_exists
  from flow_runs r join flows f on f.id = r.flow_id join brands b on b.id = r.brand_id
  left join contacts c on c.id = r.contact_id and c.brand_id = r.brand_id
  where ${which} ${lock}`;

/**
 * Reads and locks a run, and sets a time-out for the following statements. Events that arrive for the run do not wait
 * for the lock.
 * @returns null if there is none
 */
export async function lockRun(trx: Queryable, runId: number): Promise<LoadedRun | null> {
  const { rows } = await trx.query<LoadedRun>({
    name: 'lock_flow_run_2',
    text: lockSql('r.id = $1', 'for no key update of r'),
    values: [runId],
  });
  return rows[0] ?? null;
}

/** Like {@link lockRun}, for those of the runs that no other transaction has locked, in the order of their ids. */
export async function lockFreeRuns(trx: Queryable, runIds: readonly number[]): Promise<LoadedRun[]> {
  const { rows } = await trx.query<LoadedRun>({
    name: 'lock_free_flow_runs',
    text: lockSql('r.id = any($1)', 'order by r.id for no key update of r skip locked'),
    values: [runIds],
  });
  return rows;
}
