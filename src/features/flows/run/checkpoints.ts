/** What a transaction stores of runs when it leaves them. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { countEnds, type RunEnd } from './ends.ts';
import type { RunRecord } from './interpreter.ts';
import type { LoadedRun, WaitsFor } from './load.ts';
import { type ActiveRun, awaitsEvents, type Effects } from './run-context.ts';
import { GOAL_STEP } from './waits.ts';

/** How late the workflow of a waiting run may be before the reconciler checks it, in ms. */
const LATE_MS = 600_000;
/** The same for a run that is working. The attempts of a webhook step take up to 37 minutes. */
const BUSY_MS = 3_600_000;
/** The same for a run that is held. The resume of the flow starts its workflow. */
const HELD_MS = 31 * 86_400_000;

/** What is stored of a run that stays active. */
export interface Checkpoint {
  record: RunRecord;
  waitsFor: WaitsFor | null;
  due: Date | null;
  /** Null if the run has no workflow of its own. */
  engineExpectedBy: Date | null;
}

const later = (time: Date, ms: number) => new Date(time.getTime() + ms);

/** @param isHeld whether the run waits for the resume of its flow */
export function checkpointOf(
  { cohort_id: cohortId }: LoadedRun,
  record: RunRecord,
  asOf: Date,
  isHeld = false,
): Checkpoint {
  const { wait } = record;
  const checkpoint = (waitsFor: WaitsFor | null, due: Date | null, expectedBy: Date): Checkpoint => ({
    record,
    waitsFor,
    due,
    engineExpectedBy: cohortId === null ? expectedBy : null,
  });
  if (isHeld) return checkpoint('resume', null, later(asOf, HELD_MS));
  if (wait === null) return checkpoint(null, null, later(asOf, BUSY_MS));
  if (wait.for === 'webhook') return checkpoint('webhook', null, later(asOf, BUSY_MS));
  const due = new Date(wait.until);
  return checkpoint(wait.for, due, later(due, LATE_MS));
}

const isSameTime = (one: Date | null, other: Date | null) => one?.getTime() === other?.getTime();

/** Whether there is nothing to write, because the transaction found nothing to do. */
export function isUnchanged(
  run: LoadedRun,
  before: RunRecord,
  checkpoint: Checkpoint,
  effects: Effects | null,
): boolean {
  return (
    run.retry_at === null &&
    run.waits_for === checkpoint.waitsFor &&
    isSameTime(run.due_at, checkpoint.due) &&
    isSameTime(run.engine_expected_by, checkpoint.engineExpectedBy) &&
    JSON.stringify(before) === JSON.stringify(checkpoint.record) &&
    (effects === null || effects.judged.length + effects.ended.length === 0)
  );
}

/** SQL: ends waits, and deletes events that have been judged, except those of the goal. */
const forgetSql = `
  with ended as (
    delete from flow_waits w using unnest($2::bigint[], $3::integer[]) as e (run_id, step_id)
    where w.run_id = e.run_id and w.step_id = e.step_id
  )
  delete from flow_arrivals a
  where a.run_id = any($1) and a.step_id <> ${GOAL_STEP} and (
    (a.run_id, a.step_id) in (select * from unnest($2::bigint[], $3::integer[]))
    or (a.run_id, a.event_id) in (select * from unnest($4::bigint[], $5::bigint[])))`;

/** Ends the waits and deletes the events that the steps of runs leave behind. */
export async function forgetWaits(
  trx: Queryable,
  left: readonly { run: { id: number }; effects: Effects }[],
): Promise<void> {
  const ended = left.flatMap(({ run, effects }) => effects.ended.map((step) => ({ id: run.id, step })));
  const judged = left.flatMap(({ run, effects }) => effects.judged.map((event) => ({ id: run.id, event })));
  if (judged.length + ended.length === 0) return;
  await trx.query({
    name: 'forget_waits_of_runs',
    text: forgetSql,
    values: [
      [...new Set([...ended, ...judged].map(({ id }) => id))],
      ended.map(({ id }) => id),
      ended.map(({ step }) => step),
      judged.map(({ id }) => id),
      judged.map(({ event }) => event),
    ],
  });
}

/** Stores the checkpoints of locked runs that stay active. */
export async function leaveRuns(
  trx: Queryable,
  left: readonly { run: { id: number }; checkpoint: Checkpoint }[],
): Promise<void> {
  if (left.length === 0) return;
  const all = left.map(({ checkpoint }) => checkpoint);
  await trx.query({
    name: 'leave_flow_runs',
    text: `update flow_runs r set record = s.record, step_id = s.step_id, waits_for = s.waits_for, due_at = s.due_at,
             engine_expected_by = s.engine_expected_by,
             held_at = case s.waits_for when 'resume' then coalesce(r.held_at, now()) end,
             call_at = null, retry_at = null, failures = 0, updated_at = now()
           from unnest($1::bigint[], $2::jsonb[], $3::integer[], $4::text[], $5::timestamptz[], $6::timestamptz[])
             as s (id, record, step_id, waits_for, due_at, engine_expected_by)
           where r.id = s.id`,
    values: [
      left.map(({ run }) => run.id),
      all.map(({ record }) => JSON.stringify(record)),
      all.map(({ record }) => record.stepId),
      all.map(({ waitsFor }) => waitsFor),
      all.map(({ due }) => due),
      all.map(({ engineExpectedBy }) => engineExpectedBy),
    ],
  });
}

/** A run that ended at one of its steps. */
export interface FinishedRun extends ActiveRun {
  /** Its last record. */
  last: RunRecord;
  end: RunEnd;
}

/** Ends locked runs at one of their steps. */
export async function finishRuns(
  trx: Queryable,
  finished: readonly FinishedRun[],
  asOf: Date,
): Promise<void> {
  if (finished.length === 0) return;
  await trx.query({
    name: 'finish_flow_runs',
    text: `update flow_runs r set state = s.state, reason = s.reason, record = s.record, step_id = null,
             waits_for = null, due_at = null, engine_expected_by = null, ended_at = $5, updated_at = now()
           from unnest($1::bigint[], $2::text[], $3::text[], $4::jsonb[]) as s (id, state, reason, record)
           where r.id = s.id`,
    values: [
      finished.map(({ run }) => run.id),
      finished.map(({ end }) => end.state),
      finished.map(({ end }) => end.reason),
      finished.map(({ last }) => JSON.stringify(last)),
      asOf,
    ],
  });
  const waiting = finished.filter(({ version }) => awaitsEvents(version)).map(({ run }) => run.id);
  if (waiting.length > 0) {
    await trx.query({
      name: 'end_waits_of_runs',
      text: `with waits as (delete from flow_waits where run_id = any($1))
             delete from flow_arrivals where run_id = any($1)`,
      values: [waiting],
    });
  }
  for (const same of groupByEnd(finished, ({ end }) => end)) {
    await countEnds(
      trx,
      same.map(({ run }) => run),
      (same[0] as FinishedRun).end,
    );
  }
}

/** Groups runs that end in the same way. */
export function groupByEnd<T>(runs: readonly T[], endOf: (run: T) => RunEnd): T[][] {
  return [...Map.groupBy(runs, (run) => `${endOf(run).state} ${endOf(run).reason}`).values()];
}
