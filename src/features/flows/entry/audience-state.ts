/** How far the audience of a flow was compared. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { FlowRow } from '../model.ts';
import { takesMembers } from './members.ts';

/** All contacts are compared so often; a comparison of all takes less than the minute that is left of ten. */
const COMPARE_MS = 9 * 60_000;
/** Contacts who changed are compared so often. */
const LOOK_MS = 60_000;

export interface AudienceState {
  /** When the flow last began to take contacts. */
  opened_at: Date | null;
  enters_existing: boolean;
  /** When the comparison under way began; null: none is. */
  comparing_since: Date | null;
  remembers: boolean;
  cursor: number;
  compared_at: Date | null;
  seen_at: Date | null;
}

export type AudienceFlow = Pick<
  FlowRow,
  'id' | 'account_id' | 'brand_id' | 'status' | 'approval_state' | 'segment_id' | 'audience_seen_at'
>;

/** What is to be done next; null: the flow takes nobody by a segment now. */
export type AudienceTask =
  | { do: 'compare'; flow: AudienceFlow & { segment_id: number }; state: AudienceState }
  | { do: 'look'; flow: AudienceFlow & { segment_id: number }; state: AudienceState }
  | { do: 'wait'; until: Date };

const STATE = 'opened_at, enters_existing, comparing_since, remembers, cursor, compared_at, seen_at';

/** Reads the state of an audience, whose flow is locked. */
async function readState(trx: Queryable, flowId: number): Promise<AudienceState> {
  await trx.query('insert into flow_audiences (flow_id) values ($1) on conflict do nothing', [flowId]);
  const { rows } = await trx.query<AudienceState>(`select ${STATE} from flow_audiences where flow_id = $1`, [
    flowId,
  ]);
  return rows[0] as AudienceState;
}

/**
 * Locks a flow until the transaction ends: it is not paused, and no other activity compares its contacts. Whoever resumes
 * it has this lock, too, and then changes the state of the audience.
 */
async function lockAudience(trx: Queryable, id: number): Promise<AudienceFlow | null> {
  const { rows } = await trx.query<AudienceFlow>(
    `select id, account_id, brand_id, status, approval_state, segment_id, audience_seen_at
     from flows where id = $1 for no key update`,
    [id],
  );
  return rows[0] ?? null;
}

/** Noted contacts that a comparison of all forgets when it begins, at most: the flow is locked meanwhile. */
const MAX_FORGOTTEN = 50_000;

/**
 * Begins a comparison of all contacts. It looks at all who were noted by now, so that they are forgotten: those that this
 * transaction sees. A contact noted by a transaction that commits later may have been compared before.
 */
async function beginComparison(trx: Queryable, flow: AudienceFlow, asOf: Date): Promise<AudienceState> {
  await trx.query(
    `delete from flow_candidates where id = any (array(
       select id from flow_candidates where flow_id = $1 order by id limit $2))`,
    [flow.id, MAX_FORGOTTEN],
  );
  const { rows } = await trx.query<AudienceState>(
    `update flow_audiences set comparing_since = $2, remembers = $3, cursor = 0 where flow_id = $1 returning ${STATE}`,
    [flow.id, asOf, flow.audience_seen_at === null],
  );
  return rows[0] as AudienceState;
}

/**
 * Decides what is due, and begins a comparison of all contacts if that is.
 * @param last when the flow was last looked at by the caller; null: not yet
 * @returns null if the flow takes nobody by a segment: its workflow is not needed
 */
export async function nextTask(
  trx: Queryable,
  flowId: number,
  asOf: Date,
  last: Date | null,
): Promise<AudienceTask | null> {
  const flow = await lockAudience(trx, flowId);
  if (!flow || !takesMembers(flow)) return null;
  const withSegment = { ...flow, segment_id: flow.segment_id as number };
  const state = await readState(trx, flowId);
  const isFirst = flow.audience_seen_at === null;
  // The flow was paused and resumed meanwhile: who began to match in between does not enter.
  const isVoid = isFirst && !state.remembers;
  const age = state.compared_at === null ? Infinity : asOf.getTime() - state.compared_at.getTime();
  if (state.comparing_since !== null && !isVoid) return { do: 'compare', flow: withSegment, state };
  if (isFirst || age >= COMPARE_MS) {
    return { do: 'compare', flow: withSegment, state: await beginComparison(trx, flow, asOf) };
  }
  if (last === null) return { do: 'look', flow: withSegment, state };
  const due = Math.min(last.getTime() + LOOK_MS, asOf.getTime() - age + COMPARE_MS);
  if (due <= asOf.getTime()) return { do: 'look', flow: withSegment, state };
  return { do: 'wait', until: new Date(due) };
}

/** What a task was decided on, for its transaction. @returns null if that has changed: another activity was faster */
export async function confirmTask(
  trx: Queryable,
  { flow, state }: Extract<AudienceTask, { do: 'compare' | 'look' }>,
): Promise<AudienceState | null> {
  const now = await lockAudience(trx, flow.id);
  if (!now || !takesMembers(now) || now.segment_id !== flow.segment_id) return null;
  if ((now.audience_seen_at === null) !== (flow.audience_seen_at === null)) return null;
  const found = await readState(trx, flow.id);
  const isSame =
    found.comparing_since?.getTime() === state.comparing_since?.getTime() &&
    found.cursor === state.cursor &&
    found.remembers === state.remembers;
  return isSame ? found : null;
}
