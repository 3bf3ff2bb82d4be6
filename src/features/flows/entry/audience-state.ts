/** The progress of comparing contacts with the segment of a flow, and what is due next. */
import type { Queryable } from '../../../platform/db/queryable.ts';
import type { FlowRow } from '../model.ts';
import { takesMembers } from './members.ts';

/**
 * How often all contacts are compared, in ms. A comparison takes less than a minute, so each contact is compared at
 * least every ten minutes.
 */
const COMPARE_MS = 9 * 60_000;
/** How often changed contacts are compared, in ms. */
const LOOK_MS = 60_000;

export interface AudienceState {
  /** Since when contacts can enter: the last activation, resume or approval of the flow, or change of its segment. */
  opened_at: Date | null;
  enters_existing: boolean;
  /** When the current comparison of all contacts began; null if there is none. */
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

/** What to do next. */
export type AudienceTask =
  | { do: 'compare'; flow: AudienceFlow & { segment_id: number }; state: AudienceState }
  | { do: 'look'; flow: AudienceFlow & { segment_id: number }; state: AudienceState }
  | { do: 'wait'; until: Date };

const STATE = 'opened_at, enters_existing, comparing_since, remembers, cursor, compared_at, seen_at';

/** Reads the state of an audience. Lock its flow first. */
async function readState(trx: Queryable, flowId: number): Promise<AudienceState> {
  await trx.query('insert into flow_audiences (flow_id) values ($1) on conflict do nothing', [flowId]);
  const { rows } = await trx.query<AudienceState>(`select ${STATE} from flow_audiences where flow_id = $1`, [
    flowId,
  ]);
  return rows[0] as AudienceState;
}

/**
 * Locks a flow, so that until the transaction ends it cannot be paused, and no other activity compares its contacts. A
 * resume takes this lock, too, before it changes the state of the audience.
 */
async function lockAudience(trx: Queryable, id: number): Promise<AudienceFlow | null> {
  const { rows } = await trx.query<AudienceFlow>(
    `select id, account_id, brand_id, status, approval_state, segment_id, audience_seen_at
     from flows where id = $1 for no key update`,
    [id],
  );
  return rows[0] ?? null;
}

/**
 * Maximum number of candidates that a comparison of all contacts deletes when it begins, because the flow is locked
 * during that time.
 */
const MAX_FORGOTTEN = 50_000;

/**
 * Begins a comparison of all contacts, and deletes the candidates that this transaction sees, because the comparison
 * includes them. Candidates of transactions that commit later must stay: these contacts may be compared before that
 * commit.
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
 * Decides what is due, and begins a comparison of all contacts if it is due.
 * @param last when the caller last called this for the flow; null if it has not
 * @returns null if contacts cannot enter the flow by a segment now; its workflow is then not needed
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
  // The flow was paused and resumed in the meantime: contacts who began to match during the pause do not enter.
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

/**
 * Locks the flow again in the task's transaction, and returns its state.
 * @returns null if the state has changed since the task was decided, because another activity was faster
 */
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
