import type { Queryable } from '../../../platform/db/queryable.ts';
import { lockBrands, lockContacts } from '../../contact-events/service.ts';
import { awaitedEvent } from '../steps/index.ts';
import type { FlowVersion, FlowVersionReader } from '../versions.ts';
import type { RunOfFlow } from '../workflow.ts';
import { endRuns } from './ends.ts';
import { findStep } from './interpreter.ts';
import { GOAL_STEP, registerGoals, registerWaits } from './waits.ts';

/** An active run in a page. */
export interface RunOfPage extends RunOfFlow {
  version_id: number;
  step_id: number | null;
  record: unknown;
  test: boolean;
  /** Whether it is held because the flow was paused. `arrived`: an event has arrived for it during the pause. */
  held: boolean;
  held_at: Date | null;
  arrived: boolean;
  due_at: Date | null;
  /** Whether it waits for the response to a webhook step. `call_at`: see the table. */
  calling: boolean;
  call_at: Date | null;
  updated_at: Date;
}

/** Whether a run can continue in another version: it has not begun, or its step still exists with the same type. */
function survives(run: RunOfPage, from: FlowVersion, to: FlowVersion): boolean {
  if (run.step_id === null) return true;
  const step = findStep(to.steps, run.step_id);
  return step !== null && step.type === findStep(from.steps, run.step_id)?.type;
}

/** The event that a run waits for at a step of a version; null if none. */
function eventAt({ steps }: FlowVersion, stepId: number): string | null {
  const step = findStep(steps, stepId);
  return step && awaitedEvent(step);
}

/** Whether the event that a run waits for differs between the versions. */
function waitsForOther(run: RunOfPage, from: FlowVersion, to: FlowVersion): boolean {
  if (run.step_id === null) return false;
  const [before, after] = [eventAt(from, run.step_id), eventAt(to, run.step_id)];
  return before !== null && after !== null && before !== after;
}

/** A move of runs to a version. */
interface VersionMove {
  to: FlowVersion;
  /** When the client requested it. New waits and goals count events since then. */
  since: Date;
  asOf: Date;
}

/** Ends runs that had reached their goal before the move. @returns the others */
async function endReached(trx: Queryable, runs: readonly RunOfPage[], asOf: Date): Promise<RunOfPage[]> {
  const { rows } = await trx.query<{ run_id: number }>(
    `select distinct run_id from flow_arrivals where run_id = any($1) and step_id = ${GOAL_STEP}`,
    [runs.map(({ id }) => id)],
  );
  const reached = new Set(rows.map((row) => row.run_id));
  await endRuns(trx, [...reached], { state: 'exited', reason: 'goal' }, { asOf, priority: 2 });
  return runs.filter(({ id }) => !reached.has(id));
}

/** Changes the goal of runs. @returns those that have already reached the new one */
async function changeGoals(
  trx: Queryable,
  runs: readonly RunOfPage[],
  { to: { goal }, since }: VersionMove,
): Promise<Set<number>> {
  if (runs.length === 0) return new Set();
  await trx.query(`delete from flow_waits where run_id = any($1) and step_id = ${GOAL_STEP}`, [
    runs.map(({ id }) => id),
  ]);
  if (goal === null) return new Set();
  return registerGoals(
    trx,
    runs.map(({ id, brandId, contact_id: contactId, test }) => {
      return { id, brandId, contactId, test, goal, since, causeId: null };
    }),
  );
}

/**
 * Makes runs wait for the new event of their step. Each begins its wait when it next advances, as if at the time of the
 * request: events count since then.
 */
async function changeWaits(
  trx: Queryable,
  runs: readonly RunOfPage[],
  { to, since }: VersionMove,
): Promise<void> {
  if (runs.length === 0) return;
  await trx.query(
    `update flow_runs set record = jsonb_set(record, '{arrivedAt}', to_jsonb($2::text)) where id = any($1)`,
    [runs.map(({ id }) => id), since.toISOString()],
  );
  await trx.query(
    `delete from flow_arrivals a using flow_runs r where r.id = any($1) and a.run_id = r.id and a.step_id = r.step_id`,
    [runs.map(({ id }) => id)],
  );
  await registerWaits(
    trx,
    runs.flatMap(({ id, brandId, contact_id: contactId, test, step_id: stepId }) => {
      const eventName = stepId === null ? null : eventAt(to, stepId);
      if (stepId === null || eventName === null) return [];
      return { id, brandId, contactId, test, stepId, eventName, since, causeId: null };
    }),
  );
}

/** Locks the contacts of runs, so that none of their events arrives until the transaction ends. */
async function lockEvents(trx: Queryable, runs: readonly RunOfPage[]): Promise<void> {
  if (runs.length === 0) return;
  await lockBrands(trx, [...new Set(runs.map(({ brandId }) => brandId))]);
  await lockContacts(trx, [...new Set(runs.map((run) => run.contact_id))], 'exclusive');
}

/**
 * Moves locked runs to a version if it still has their steps. Waits continue unchanged, unless their event has changed.
 * @returns the runs to wake
 */
export async function moveToVersion(
  trx: Queryable,
  runs: readonly RunOfPage[],
  versions: FlowVersionReader,
  move: VersionMove,
): Promise<RunOfPage[]> {
  const { to, asOf } = move;
  const moving: { run: RunOfPage; from: FlowVersion }[] = [];
  for (const run of runs) {
    if (run.version_id === to.id) continue;
    const from = await versions(run.version_id, trx);
    if (survives(run, from, to)) moving.push({ run, from });
  }
  const otherGoal = moving.filter(({ from }) => from.goal !== to.goal).map(({ run }) => run);
  const otherEvent = moving.filter(({ run, from }) => waitsForOther(run, from, to)).map(({ run }) => run);
  await lockEvents(trx, [...new Set([...otherGoal, ...otherEvent])]);
  const goOn = new Set(await endReached(trx, otherGoal, asOf));
  const ended = new Set(otherGoal.filter((run) => !goOn.has(run)));
  const moved = moving.map(({ run }) => run).filter((run) => !ended.has(run));
  await trx.query(
    'update flow_runs set version_id = $2, moved = true, updated_at = now() where id = any($1)',
    [moved.map(({ id }) => id), to.id],
  );
  const reached = await changeGoals(trx, [...goOn], move);
  const otherWait = otherEvent.filter((run) => !ended.has(run));
  await changeWaits(trx, otherWait, move);
  return moved.filter((run) => reached.has(run.id) || otherWait.includes(run));
}
