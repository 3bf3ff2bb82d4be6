/**
 * Changes of all runs of a flow, after a resume, an archive or a move to another version, and of its messages in the
 * queue. A loop in the worker applies them in pages by run or message id. A page and its cursor are one transaction, so
 * a crash repeats at most one page.
 */
import type pg from 'pg';
import type { Logger } from 'pino';
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { Waker } from '../../../platform/db/wake.ts';
import type { Pulse } from '../../../platform/processes/pulse.ts';
import type { Repeating } from '../../../platform/processes/repeat.ts';
import type { FlowVersionReader } from '../versions.ts';
import { runOfFlowColumns, wakeChanged } from '../cohorts/wakes.ts';
import { endRuns } from './ends.ts';
import { moveToVersion, type RunOfPage } from './move-to-version.ts';
import { makePage } from './pages.ts';
import { changeMessagesPage } from './waiting-messages.ts';

/** Number of runs per page. */
const PAGE = 500;

interface ChangeRow {
  id: number;
  flow_id: number;
  change: 'resume' | 'exit_overdue' | 'archive' | 'move';
  cursor: number;
  up_to: number;
  data: { version_id?: number } | null;
  failures: number;
  created_at: Date;
}

export interface FlowChangesDeps {
  pool: pg.Pool;
  versions: FlowVersionReader;
  waker: Pick<Waker, 'wake'>;
  log: Logger;
  /** Number of runs per page; for tests. */
  pageRuns?: number;
}

/**
 * Takes the next change. The oldest change of a flow comes first, but an archive does not wait for others. Changes of
 * different flows take turns.
 */
async function takeChange(trx: Queryable, asOf: Date): Promise<ChangeRow | undefined> {
  const { rows } = await trx.query<ChangeRow>(
    `select id, flow_id, change, cursor, up_to, data, failures, created_at from flow_changes c
     where c.due_at <= $1
       and (c.change = 'archive'
         or not exists (select 1 from flow_changes o where o.flow_id = c.flow_id and o.id < c.id))
     order by c.due_at, c.id limit 1 for update skip locked`,
    [asOf],
  );
  return rows[0];
}

/** Locks the next active runs. Their workflows may wait for them until the page is committed. */
async function nextRuns(trx: Queryable, change: ChangeRow, limit: number): Promise<RunOfPage[]> {
  const { rows } = await trx.query<RunOfPage>(
    `select ${runOfFlowColumns('r')}, r.version_id, r.step_id, r.record, r.test, r.due_at,
       coalesce(r.waits_for = 'resume', false) as held, r.held_at,
       coalesce(r.waits_for = 'webhook', false) as calling, r.call_at, r.updated_at,
       r.waits_for = 'event' and exists (select 1 from flow_arrivals a where a.run_id = r.id) as arrived
     from flow_runs r where r.flow_id = $1 and r.id > $2 and r.id <= $3 and r.state = 'active'
     order by r.id limit $4 for no key update of r`,
    [change.flow_id, change.cursor, change.up_to, limit],
  );
  return rows;
}

/** Whether a request of the run was due during a pause. The workflow of a single run holds it then. */
const stoodAtCall = ({ cohort_id: cohortId, calling }: RunOfPage) => cohortId !== null && calling;

/** Whether a run may have something to do that it could not do while its flow was paused. */
const stoodStill = (run: RunOfPage) => run.held || run.arrived || stoodAtCall(run);

/** Whether the time of a run was over when its flow was resumed. A later pause may have held it again. */
function isOverdue(run: RunOfPage, resumedAt: Date): boolean {
  const { held, held_at: heldAt, due_at: due, call_at: callAt, updated_at: changedAt } = run;
  if (held) return heldAt === null || heldAt <= resumedAt;
  if (stoodAtCall(run)) return changedAt <= resumedAt && (callAt === null || callAt <= resumedAt);
  return due !== null && due <= resumedAt;
}

/** Changes the runs of a page. */
async function changeRuns(
  trx: Queryable,
  { versions }: FlowChangesDeps,
  { change, data, created_at: since }: ChangeRow,
  runs: readonly RunOfPage[],
  asOf: Date,
): Promise<void> {
  if (runs.length === 0) return;
  const idsOf = (some: readonly RunOfPage[]) => some.map(({ id }) => id);
  switch (change) {
    case 'resume':
      return wakeChanged(
        trx,
        runs.filter((run) => stoodStill(run)),
        2,
        asOf,
      );
    case 'exit_overdue': {
      const overdue = idsOf(runs.filter((run) => isOverdue(run, since)));
      await endRuns(trx, overdue, { state: 'exited', reason: 'overdue' }, { asOf, priority: 2 });
      return wakeChanged(
        trx,
        runs.filter((run) => !isOverdue(run, since) && stoodStill(run)),
        2,
        asOf,
      );
    }
    case 'archive':
      await endRuns(trx, idsOf(runs), { state: 'canceled', reason: 'archived' }, { asOf, priority: 2 });
      return;
    case 'move': {
      if (data?.version_id === undefined) return;
      const to = await versions(data.version_id, trx);
      return wakeChanged(trx, await moveToVersion(trx, runs, versions, { to, since, asOf }), 2, asOf);
    }
  }
}

/** Changes a page of runs. @returns the last of them; null if there are no more */
async function changeRunsPage(
  trx: Queryable,
  deps: FlowChangesDeps,
  change: ChangeRow,
  asOf: Date,
): Promise<number | null> {
  const { pageRuns = PAGE } = deps;
  const runs = await nextRuns(trx, change, pageRuns);
  await changeRuns(trx, deps, change, runs, asOf);
  return runs.length < pageRuns ? null : (runs.at(-1)?.id ?? null);
}

/**
 * Applies one page of a change of runs. Several processes may do so at once.
 * @returns whether there was something to do
 */
export async function changePage(deps: FlowChangesDeps, asOf: Date): Promise<boolean> {
  const made = await makePage(
    deps,
    {
      table: 'flow_changes',
      take: takeChange,
      make: (trx, change: ChangeRow) => changeRunsPage(trx, deps, change, asOf),
    },
    asOf,
  );
  if (made) deps.waker.wake('outbox');
  return made;
}

/** Applies changes of all runs of flows, and of their queued messages. Any number of processes may run this. */
export function startFlowChanges({ pulse, ...deps }: FlowChangesDeps & { pulse: Pulse }): Repeating {
  const queue = {
    name: 'changing runs of flows',
    waiting: `exists (select from flow_changes where due_at <= now())
      or exists (select from flow_message_changes where due_at <= now())`,
  };
  return pulse.repeat(queue, async () => {
    const asOf = new Date();
    const made = [await changePage(deps, asOf), await changeMessagesPage(deps, asOf)];
    return made.includes(true);
  });
}
