import { holdRetries, releaseRetries } from '../../delivery/ledger/blocks/campaign-blocks.ts';
import { releaseUnsendable } from './run/unsendable-blocks.ts';
import { lockCampaignForChange } from '../../delivery/ledger/ownership/campaign-lock.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { defineTransitions } from '../../platform/db/transitions.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import {
  CAMPAIGN_COLUMNS,
  type CampaignPhase,
  type CampaignRow,
  type CampaignStop,
  lockCampaignRow,
} from './model.ts';
import { campaignWake } from './workflow.ts';

/** The actions on a campaign. `docs/campaigns.md` has the same table. */
export type CampaignAction =
  | 'send'
  | 'reschedule'
  | 'pause'
  | 'resume'
  | 'cancel'
  | 'approve'
  | 'reject'
  | 'change_audience'
  | 'change_content'
  | 'resend_unknown'
  | 'delete';

const underWay: readonly CampaignPhase[] = ['waiting', 'snapshot', 'sending'];

/** Which actions each state of a campaign allows. */
export const campaignTransitions = defineTransitions<CampaignRow, CampaignAction>({
  noun: 'campaign',
  table: 'campaigns',
  columns: CAMPAIGN_COLUMNS,
  allowed: {
    send: { status: ['draft', 'active', 'paused'], phase: ['draft', 'waiting'] },
    reschedule: { status: ['active', 'paused'], phase: ['waiting'] },
    pause: { status: ['active'], phase: underWay },
    resume: { status: ['paused'], phase: underWay },
    cancel: { status: ['active', 'paused'], phase: underWay },
    approve: { status: ['active', 'paused'], phase: underWay, approval_state: ['pending', 'rejected'] },
    reject: { status: ['active', 'paused'], phase: underWay, approval_state: ['pending'] },
    change_audience: { status: ['draft', 'paused'], phase: ['draft', 'waiting'] },
    change_content: { status: ['draft', 'paused'], phase: ['draft', ...underWay] },
    resend_unknown: { status: ['completed'], phase: ['done'] },
    delete: { status: ['draft'], phase: ['draft'] },
  },
  refusals: {
    change_audience:
      'audience and options change only in a draft, or while it is paused before its recipients are fixed',
    change_content: 'content changes only in a draft or while the campaign is paused',
    reschedule: 'it no longer waits for its time',
  },
  lock: lockCampaign,
  wake: (trx, { id, account_id: accountId, brand_id: brandId, name }) =>
    appendToOutbox(trx, campaignWake({ id, accountId, brandId, name })),
});
const { begin, changeLocked } = campaignTransitions;

/** A campaign by its id. */
type Campaign = Pick<CampaignRow, 'id'>;

export interface At {
  /** The time of the change; now if left out. */
  asOf?: Date;
}

const hasRecipients = (phase: CampaignPhase) => phase !== 'draft' && phase !== 'waiting';

/**
 * Locks a campaign, so that no batch of it is intended until the transaction ends. A campaign without recipients has no
 * batches, so this does not wait for intents, and the lock of the row keeps the snapshot from beginning.
 * @returns null if there is none
 */
export async function lockCampaign(trx: Queryable, id: number): Promise<CampaignRow | null> {
  const { rows } = await trx.query<Pick<CampaignRow, 'phase'>>('select phase from campaigns where id = $1', [
    id,
  ]);
  if (!rows[0]) return null;
  if (!hasRecipients(rows[0].phase)) {
    await trx.query('savepoint campaign_row');
    const row = await lockCampaignRow(trx, id);
    if (!row || !hasRecipients(row.phase)) return row;
    // The snapshot has begun in the meantime. The row must be locked after the intents, so release its lock.
    await trx.query('rollback to savepoint campaign_row');
  }
  await lockCampaignForChange(trx, id);
  return lockCampaignRow(trx, id);
}

/** How long the workflow of a changed campaign may take to act on it. */
const ENGINE_GRACE = `interval '2 minutes'`;

/** SQL: set by each change on which the workflow must act. */
export const expected = `engine_expected_by = now() + ${ENGINE_GRACE}`;

/**
 * Pauses a campaign. It waits for the campaign's uncommitted intents; once the caller's transaction has committed, no
 * other messages of the campaign leave. Wake `outbox` after the commit, also for the functions below.
 * @param trx the caller's transaction
 * @param options.stop why the service pauses it; left out if a client or an operator does
 * @returns null if it is not active
 */
export async function pauseCampaign(
  trx: Queryable,
  { id }: Campaign,
  { stop = null, asOf = new Date() }: At & { stop?: CampaignStop | null } = {},
): Promise<CampaignRow | null> {
  const row = await begin(trx, id, 'pause');
  if (!row) return null;
  await holdRetries(trx, id);
  return changeLocked(trx, id, `status = 'paused', paused_at = $2, stop = $3, ${expected}`, [
    asOf,
    stop && JSON.stringify(stop),
  ]);
}

/**
 * Resumes a paused campaign. Its rates for the stop thresholds start over. A rejected campaign waits for approval
 * again, and so do its messages.
 * @returns null if it is not paused
 */
export async function resumeCampaign(
  trx: Queryable,
  { id }: Campaign,
  { asOf = new Date() }: At = {},
): Promise<CampaignRow | null> {
  const row = await begin(trx, id, 'resume');
  if (!row) return null;
  const approval = row.approval_state === 'rejected' ? 'pending' : row.approval_state;
  if (approval !== 'pending') await releaseRetries(trx, id);
  await releaseUnsendable(trx, id);
  return changeLocked(
    trx,
    id,
    `status = 'active', paused_at = null, stop = null, counted_from = $2, approval_state = $3, ${expected}`,
    [asOf, approval],
  );
}

/**
 * Cancels a campaign. Before the snapshot it becomes a draft again. Otherwise it is completed at once; its workflow
 * then cancels the remaining messages, and moves `phase` to `done`.
 * @returns null if it is neither active nor paused
 */
export async function cancelCampaign(
  trx: Queryable,
  { id }: Campaign,
  { asOf = new Date() }: At = {},
): Promise<CampaignRow | null> {
  const row = await begin(trx, id, 'cancel');
  if (!row) return null;
  if (row.phase === 'waiting') {
    return changeLocked(
      trx,
      id,
      `status = 'draft', phase = 'draft', approval_state = 'not_required', begin_at = null, audience = null,
       version_ids = '{}', variant_template_ids = '{}', sent_name = null, from_address = null, reply_to = null, domain_id = null, provider_id = null,
       tracking = null, counted_from = null, started_at = null, paused_at = null, stop = null, engine_expected_by = null`,
    );
  }
  await holdRetries(trx, id);
  return changeLocked(
    trx,
    id,
    `status = 'completed', outcome = 'canceled', finished_at = $2, paused_at = null, ${expected}`,
    [asOf],
  );
}

/**
 * Approves a campaign that waits for approval or was rejected.
 * @param check receives the locked row, and throws if it is not what the operator has approved
 * @returns null if there is nothing to approve
 */
export async function approveCampaign(
  trx: Queryable,
  { id }: Campaign,
  check: (row: CampaignRow) => Promise<void> = () => Promise.resolve(),
): Promise<CampaignRow | null> {
  const row = await begin(trx, id, 'approve');
  if (!row) return null;
  await check(row);
  if (row.status === 'active') await releaseRetries(trx, id);
  return changeLocked(trx, id, `approval_state = 'approved', ${expected}`);
}

/** Rejects and pauses a campaign that waits for approval. @returns null if it does not wait for approval */
export async function rejectCampaign(
  trx: Queryable,
  { id }: Campaign,
  { asOf = new Date() }: At = {},
): Promise<CampaignRow | null> {
  const row = await begin(trx, id, 'reject');
  if (!row) return null;
  await holdRetries(trx, id);
  const stop: CampaignStop = { reason: 'rejected', rate: null, threshold: null, at: asOf.toISOString() };
  return changeLocked(
    trx,
    id,
    `status = 'paused', paused_at = coalesce(paused_at, $2), approval_state = 'rejected', stop = $3, ${expected}`,
    [asOf, JSON.stringify(stop)],
  );
}

/**
 * Reschedules a campaign that waits for its time.
 * @returns null if it does not wait
 */
export async function rescheduleCampaign(
  trx: Queryable,
  { id }: Campaign,
  { scheduledAt, beginAt }: { scheduledAt: Date | null; beginAt: Date },
): Promise<CampaignRow | null> {
  const row = await begin(trx, id, 'reschedule');
  if (!row) return null;
  return changeLocked(trx, id, `scheduled_at = $2, begin_at = $3, ${expected}`, [scheduledAt, beginAt]);
}
