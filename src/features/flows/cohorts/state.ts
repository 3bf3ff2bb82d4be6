/** What the runs of a cohort do and wait for, in numbers and in words for an operator. */
import type { FlowCohortGroup, FlowCohortState } from '../../../../workflows/flows/contract.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { timeText } from '../run/sentence.ts';
import { nextAtSql } from './due.ts';
import type { LoadedCohort } from './load.ts';

/** Maximum number of groups that the state shows, and of those that its sentence names. */
const MAX_GROUPS = 20;
const MAX_NAMED = 4;

/** Active runs at the same step that wait for the same. Times are in ms since 1970. */
interface Group {
  step_id: number | null;
  waits_for: string | null;
  event_name: string | null;
  /** Whether a request is due then, instead of the step. */
  calls: boolean;
  count: number;
  /** When the first and the last of them are due; infinite if they are due now, or held. */
  first: number;
  last: number;
}

const groupsSql = `
  select step_id, waits_for, event_name, calls, count(*)::int as count,
    extract(epoch from min(next_at))::float8 * 1000 as first, extract(epoch from max(next_at))::float8 * 1000 as last
  from (
    select r.step_id, ${nextAtSql('r')} as next_at,
      case when r.failures > 0 then 'retry' when r.retry_at is null then r.waits_for end as waits_for,
      case when r.retry_at is null then r.record #>> '{wait,eventName}' end as event_name,
      coalesce(r.waits_for = 'webhook', false) as calls
    from flow_runs r where r.cohort_id = $1 and r.state = 'active'
  ) run group by step_id, waits_for, event_name, calls order by count desc, step_id`;

/** The state of a cohort. */
export interface CohortSummary {
  state: FlowCohortState;
  /** Number of active runs. */
  active: number;
  /** When the next step is due; it may be past; null: no time is set. */
  next: Date | null;
  /** Whether requests of webhook steps are due. */
  callsDue: boolean;
}

const number = new Intl.NumberFormat('en-GB');

/** @param verbs for one run and for several */
const some = (n: number, [one, many]: readonly [string, string], rest: string) =>
  `${number.format(n)} ${n === 1 ? one : many}${rest}`;

const WAITS = ['waits', 'wait'] as const;

function groupText(group: Group, asOf: Date): string {
  const { count, step_id: stepId, first, last } = group;
  const time = Number.isFinite(first) ? timeText(new Date(first), asOf) : 'now';
  const until = ` until ${time}${first === last ? '' : ' or later'}`;
  switch (group.waits_for) {
    case 'time':
      return some(count, WAITS, until);
    case 'quiet_hours':
      return some(count, WAITS, `${until} for the end of the quiet hours`);
    case 'event':
      return some(count, WAITS, ` for ${group.event_name}`);
    case 'webhook':
      return some(
        count,
        ['calls', 'call'],
        ` the webhook of step ${stepId}${first > asOf.getTime() ? ` from ${time} on` : ''}`,
      );
    case 'resume':
      return some(count, ['is', 'are'], ' held, because the flow is paused');
    case 'retry':
      return some(count, ['tries', 'try'], ` again after an error in step ${stepId ?? 1}`);
    default:
      return some(count, ['goes', 'go'], ` on with ${stepId === null ? 'the first step' : `step ${stepId}`}`);
  }
}

/** The time after which the first of the groups is due. */
function nextOf(groups: readonly Group[], isActive: boolean, asOf: Date): Date | null {
  const times = groups.map(({ calls, first }) => {
    // Due requests are not steps, and their end wakes the workflow.
    const isCalled = calls && (!isActive || first <= asOf.getTime());
    return isCalled ? Infinity : Math.max(first, 0);
  });
  const next = Math.min(...times);
  return Number.isFinite(next) ? new Date(next) : null;
}

function sentenceOf(cohort: LoadedCohort, groups: readonly Group[], next: Date | null, asOf: Date): string {
  const active = groups.reduce((sum, { count }) => sum + count, 0);
  const others = groups.slice(MAX_NAMED).reduce((sum, { count }) => sum + count, 0);
  const parts = groups.slice(0, MAX_NAMED).map((group) => groupText(group, asOf));
  if (others > 0) parts.push(some(others, ['is', 'are'], ' elsewhere'));
  const ended = cohort.size - active;
  if (ended > 0 || active === 0) parts.push(some(ended, ['has', 'have'], ' ended'));
  const runs = some(cohort.size, ['run', 'runs'], '');
  const then = next !== null && next > asOf ? `; next at ${timeText(next, asOf)}` : '';
  return `flow ${cohort.flow_id}: ${runs}; ${parts.join(', ')}${then}`;
}

function shown({ step_id: stepId, waits_for: waitsFor, event_name: eventName, count, first }: Group) {
  const next = Number.isFinite(first) ? new Date(first).toISOString() : null;
  return { stepId, waitsFor, eventName, count, next } satisfies FlowCohortGroup;
}

/** Reads the state of a cohort, including runs that other transactions have locked. */
export async function summarize(db: Queryable, cohort: LoadedCohort, asOf: Date): Promise<CohortSummary> {
  const { rows: groups } = await db.query<Group>({
    name: 'summarize_flow_cohort',
    text: groupsSql,
    values: [cohort.id],
  });
  const active = groups.reduce((sum, { count }) => sum + count, 0);
  const isActive = cohort.flow_status === 'active';
  const next = nextOf(groups, isActive, asOf);
  return {
    active,
    next,
    callsDue: isActive && groups.some(({ calls, first }) => calls && first <= asOf.getTime()),
    state: {
      sentence: sentenceOf(cohort, groups, next, asOf),
      runs: cohort.size,
      ended: cohort.size - active,
      groups: groups.slice(0, MAX_GROUPS).map(shown),
    },
  };
}
