import type { Queryable } from '../../platform/db/queryable.ts';
import { MESSAGE_ID_SEQUENCE } from '../../delivery/ledger/accept/write-messages.ts';
import { defineTransitions } from '../../platform/db/transitions.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import { removeDrafts } from '../drafts/service.ts';
import { lockBrands } from '../contact-events/service.ts';
import { rememberMembers } from './entry/members.ts';
import {
  type ApprovalState,
  FLOW_COLUMNS,
  type FlowRow,
  type FlowStop,
  lockFlow,
  type PendingFlow,
  type PinnedContent,
  readFlowRow,
} from './model.ts';
import type { MessagesChange } from './run/waiting-messages.ts';
import { flowAudienceWake } from './workflow.ts';

/** The actions on a flow. `docs/flows.md` has the same table. */
export type FlowAction =
  'activate' | 'pause' | 'resume' | 'archive' | 'approve' | 'reject' | 'change' | 'enter' | 'resend_unknown';

/** Which actions each state of a flow allows. */
export const flowTransitions = defineTransitions<FlowRow, FlowAction>({
  noun: 'flow',
  table: 'flows',
  columns: FLOW_COLUMNS,
  read: readFlowRow,
  allowed: {
    // A paused flow is checked and pinned again, and resumed.
    activate: { status: ['draft', 'paused'] },
    pause: { status: ['active'] },
    resume: { status: ['paused'] },
    archive: { status: ['draft', 'active', 'paused'] },
    approve: { status: ['active', 'paused'], approval_state: ['pending', 'rejected'] },
    reject: { status: ['active', 'paused'], approval_state: ['pending'] },
    change: { status: ['draft', 'active', 'paused'] },
    enter: { status: ['active'], approval_state: ['not_required', 'approved'] },
    // The messages of a paused flow wait, and those of an archived one are canceled.
    resend_unknown: { status: ['active'] },
  },
  lock: lockFlow,
  async wake(trx, { id, account_id: accountId, brand_id: brandId, segment_id: segmentId, name }) {
    if (segmentId === null) return;
    await appendToOutbox(trx, flowAudienceWake({ id, accountId, brandId, name }));
  },
});
const { begin, changeLocked } = flowTransitions;

/** A flow by its id. */
type Flow = Pick<FlowRow, 'id'>;

interface At {
  /** The time of the change; now if left out. */
  asOf?: Date;
}

/** Everything about a flow that activation pins. */
export interface FlowPins extends PendingFlow {
  contents: readonly PinnedContent[];
  /** Whether an operator must approve the account's flows. */
  needsApproval: boolean;
}

/**
 * Locks a flow as {@link begin} does, and waits for its uncommitted intents. Once this transaction has committed, only
 * messages that were intended before a stop can still leave, and a resume finds all messages that intents put on hold.
 * Intents do not wait for the flow's row, so locking it first cannot deadlock.
 */
async function beginWithoutIntents(trx: Queryable, id: number, action: FlowAction): Promise<FlowRow | null> {
  const row = await begin(trx, id, action);
  if (row) await trx.query('select stop_flow_intents($1)', [id]);
  return row;
}

/** SQL: when the audience workflow of a flow with a segment must have taken its first step. */
const expected = `engine_expected_by = case when segment_id is null then null else now() + interval '2 minutes' end`;

/** Requests a change of all present runs of a flow; a loop applies it in pages. */
async function changeRuns(
  trx: Queryable,
  { id }: Flow,
  change: 'resume' | 'exit_overdue' | 'archive' | 'move',
  data: Record<string, unknown> | null = null,
): Promise<void> {
  await trx.query(
    `insert into flow_changes (account_id, brand_id, flow_id, change, up_to, data)
     select f.account_id, f.brand_id, f.id, $2, newest.id, $3
     from flows f cross join lateral (
       select r.id from flow_runs r where r.flow_id = f.id order by r.id desc limit 1) newest
     where f.id = $1`,
    [id, change, data && JSON.stringify(data)],
  );
}

/**
 * Requests a change of the flow's messages in the queue; a loop applies it in pages. It does not reach messages written
 * from now on, because their ids are higher.
 */
async function changeMessages(
  trx: Queryable,
  { id }: Flow,
  change: MessagesChange,
  pausedSeconds = 0,
): Promise<void> {
  await trx.query(
    `insert into flow_message_changes (flow_id, change, up_to, paused_seconds)
     values ($1, $2, nextval('${MESSAGE_ID_SEQUENCE}'), $3)`,
    [id, change, pausedSeconds],
  );
}

/** Releases the messages of a paused flow. The pause does not count towards their lifetime. */
async function releaseMessages(trx: Queryable, row: FlowRow, asOf: Date): Promise<void> {
  const pausedMs = row.paused_at ? Math.max(0, asOf.getTime() - row.paused_at.getTime()) : 0;
  await changeMessages(trx, row, 'release', pausedMs / 1_000);
}

/** Changes a locked flow that contacts can enter from now on. Contacts who already match its segment do not enter. */
async function openLocked(trx: Queryable, id: number, set: string, values: unknown[]): Promise<FlowRow> {
  const row = await changeLocked(trx, id, set, values);
  await rememberMembers(trx, row);
  return row;
}

/** Puts the pinned contents and version into force. */
async function applyPins(trx: Queryable, { id }: Flow, pins: PendingFlow): Promise<void> {
  await trx.query(
    `insert into flow_contents (flow_id, step_id, template_id, version_id)
     select $1, c.step_id, c.template_id, c.version_id
     from jsonb_to_recordset($2::jsonb) as c (step_id integer, template_id bigint, version_id bigint)
     on conflict (flow_id, step_id) do update
     set template_id = excluded.template_id, version_id = excluded.version_id`,
    [id, JSON.stringify(pins.contents)],
  );
  if (pins.move) await changeRuns(trx, { id }, 'move', { version_id: pins.version_id });
}

/** Whether an operator has already approved these pins: the same version with the same contents. */
async function isApproved(trx: Queryable, row: FlowRow, pins: FlowPins): Promise<boolean> {
  if (row.approval_state !== 'approved' || row.version_id !== pins.version_id) return false;
  const { rows } = await trx.query<Pick<PinnedContent, 'step_id' | 'version_id'>>(
    'select step_id, version_id from flow_contents where flow_id = $1',
    [row.id],
  );
  const approved = new Map(rows.map((content) => [content.step_id, content.version_id]));
  return pins.contents.every((content) => approved.get(content.step_id) === content.version_id);
}

/**
 * Pins a locked flow, or stores the pins until an operator approves them.
 * @returns more of the `set` clause, with parameters from `$2` on
 */
async function pin(
  trx: Queryable,
  row: FlowRow,
  pins: FlowPins,
): Promise<{ set: string; values: [ApprovalState, number | null, string | null] }> {
  const set = 'approval_state = $2, version_id = $3, pending = $4';
  if (pins.needsApproval && !(await isApproved(trx, row, pins))) {
    const { version_id, contents, move } = pins;
    // The next change must not drop a move that waits for approval.
    const pending: PendingFlow = { version_id, contents, move: move || row.pending?.move === true };
    return { set, values: ['pending', row.version_id, JSON.stringify(pending)] };
  }
  await applyPins(trx, row, pins);
  return { set, values: [pins.needsApproval ? 'approved' : 'not_required', pins.version_id, null] };
}

/**
 * Makes the consumer process the brand's events from now on. For the first flow of a brand this waits for transactions
 * that are writing events, and blocks new ones: call it in a short transaction before the one that activates the flow.
 */
export async function openBrand(trx: Queryable, brandId: number): Promise<void> {
  const { rows } = await trx.query('select 1 from flow_brands where brand_id = $1', [brandId]);
  if (rows.length > 0) return;
  await lockBrands(trx, [brandId], 'exclusive');
  await trx.query('insert into flow_brands (brand_id) values ($1) on conflict do nothing', [brandId]);
}

/**
 * Activates a draft, or a paused flow with what it contains now. If approval is required, contacts enter once it is
 * given. Wake `outbox` after the commit, also for the functions below.
 * @param trx the caller's transaction
 * @returns null if the flow is neither a draft nor paused
 */
export async function activateFlow(
  trx: Queryable,
  { id, brand_id: brandId }: Pick<FlowRow, 'id' | 'brand_id'>,
  pins: FlowPins,
  { asOf = new Date() }: At = {},
): Promise<FlowRow | null> {
  await openBrand(trx, brandId);
  const row = await beginWithoutIntents(trx, id, 'activate');
  if (!row) return null;
  const { set, values } = await pin(trx, row, pins);
  if (row.status === 'paused') {
    await changeRuns(trx, row, 'resume');
    await releaseMessages(trx, row, asOf);
  }
  return openLocked(
    trx,
    id,
    `${set}, status = 'active', activated_at = $5, counted_from = $5, audience_seen_at = null, paused_at = null,
     stop = null, ${expected}`,
    [...values, asOf],
  );
}

/**
 * Pins the changes to an active or paused flow: the version that new runs follow, and the contents for all runs.
 * @param row the locked row
 */
export async function repinFlow(trx: Queryable, row: FlowRow, pins: FlowPins): Promise<FlowRow> {
  const { set, values } = await pin(trx, row, pins);
  const needed = `status = 'active' and segment_id is not null`;
  const expected = `case when ${needed} then now() + interval '2 minutes' end`;
  const changed = await changeLocked(trx, row.id, `${set}, engine_expected_by = ${expected}`, values);
  // The trigger has changed.
  if (changed.audience_seen_at === null) await rememberMembers(trx, changed);
  return changed;
}

/**
 * Pauses a flow: contacts do not enter, runs wait before their next step, and queued messages wait. It waits for the
 * flow's uncommitted intents; once the caller's transaction has committed, no other messages of the flow leave.
 * @param options.stop why the service pauses it; left out if a client or an operator does
 * @returns null if it is not active
 */
export async function pauseFlow(
  trx: Queryable,
  { id }: Flow,
  { stop = null, asOf = new Date() }: At & { stop?: FlowStop | null } = {},
): Promise<FlowRow | null> {
  const row = await beginWithoutIntents(trx, id, 'pause');
  if (!row) return null;
  await changeMessages(trx, row, 'hold');
  return changeLocked(trx, id, `status = 'paused', paused_at = $2, stop = $3, engine_expected_by = null`, [
    asOf,
    stop && JSON.stringify(stop),
  ]);
}

/**
 * Resumes a paused flow. Its rates for the stop thresholds start over, and entries missed during the pause are not made
 * up. A rejected flow waits for approval again.
 * @param options.overdue what happens to runs whose step came due during the pause, and to messages that wait: `run`
 *   (the default) continues them, `exit` ends the runs and cancels the messages
 * @returns null if it is not paused
 */
export async function resumeFlow(
  trx: Queryable,
  { id }: Flow,
  { overdue = 'run', asOf = new Date() }: At & { overdue?: 'run' | 'exit' } = {},
): Promise<FlowRow | null> {
  const row = await beginWithoutIntents(trx, id, 'resume');
  if (!row) return null;
  await changeRuns(trx, row, overdue === 'exit' ? 'exit_overdue' : 'resume');
  if (overdue === 'exit') await changeMessages(trx, row, 'cancel');
  else await releaseMessages(trx, row, asOf);
  return openLocked(
    trx,
    id,
    `status = 'active', paused_at = null, stop = null, counted_from = $2, audience_seen_at = null,
     canceled_to = case when $3 then nextval('${MESSAGE_ID_SEQUENCE}') else canceled_to end,
     approval_state = case approval_state when 'rejected' then 'pending' else approval_state end, ${expected}`,
    [asOf, overdue === 'exit'],
  );
}

/**
 * Archives a flow permanently. A loop ends its runs and cancels its messages.
 * @returns null if it is already archived
 */
export async function archiveFlow(
  trx: Queryable,
  { id }: Flow,
  { asOf = new Date() }: At = {},
): Promise<FlowRow | null> {
  const row = await beginWithoutIntents(trx, id, 'archive');
  if (!row) return null;
  await changeRuns(trx, row, 'archive');
  await changeMessages(trx, row, 'cancel');
  await removeDrafts(trx, 'flows', [id]);
  return changeLocked(
    trx,
    id,
    `status = 'archived', archived_at = $2, paused_at = null, pending = null, engine_expected_by = null`,
    [asOf],
  );
}

/**
 * Approves the pins of a flow that wait for approval or were rejected.
 * @param check receives the locked row, and throws if it is not what the operator has approved
 * @returns null if there is nothing to approve
 */
export async function approveFlow(
  trx: Queryable,
  { id }: Flow,
  check: (row: FlowRow) => Promise<void> = () => Promise.resolve(),
): Promise<FlowRow | null> {
  const row = await begin(trx, id, 'approve');
  if (!row) return null;
  await check(row);
  if (row.pending) await applyPins(trx, row, row.pending);
  return openLocked(
    trx,
    id,
    `approval_state = 'approved', version_id = coalesce($2, version_id), pending = null, audience_seen_at = null,
     stop = case stop->>'reason' when 'rejected' then null else stop end,
     engine_expected_by = case when status = 'active' and segment_id is not null then now() + interval '2 minutes' end`,
    [row.pending?.version_id ?? null],
  );
}

/** Rejects and pauses a flow that waits for approval. @returns null if it does not wait for approval */
export async function rejectFlow(
  trx: Queryable,
  { id }: Flow,
  { asOf = new Date() }: At = {},
): Promise<FlowRow | null> {
  const row = await beginWithoutIntents(trx, id, 'reject');
  if (!row) return null;
  await changeMessages(trx, row, 'hold');
  const stop: FlowStop = { reason: 'rejected', rate: null, threshold: null, at: asOf.toISOString() };
  return changeLocked(
    trx,
    id,
    `status = 'paused', paused_at = coalesce(paused_at, $2), approval_state = 'rejected', stop = $3,
     engine_expected_by = null`,
    [asOf, JSON.stringify(stop)],
  );
}
