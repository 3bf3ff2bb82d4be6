/** What requests do to campaigns. */
import type pg from 'pg';
import { requeueUnknown } from '../../delivery/ledger/blocks/campaign-blocks.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { IfMatch } from '../../platform/db/revisions.ts';
import { removeDrafts } from '../drafts/service.ts';
import { applyChanges } from './apply.ts';
import { type CheckDeps, type Prepared, requireSender } from './checks.ts';
import { type CampaignRow, hideCampaign } from './model.ts';
import { presentCampaign } from './presenter.ts';
import type { Campaign, SendCampaignBody } from './schema.ts';
import { campaignTransitions, cancelCampaign } from './transitions.ts';
import { changeCampaign } from './change.ts';
import { lockForRequest } from './find.ts';
import { sendLocked } from './send.ts';

export {
  decide,
  listForOperator,
  type OperatorContent,
  type OperatorView,
  showForOperator,
} from './approvals.ts';
export { changeCampaign } from './change.ts';
export { createCampaign, duplicateCampaign } from './create.ts';
export { findListed, getCampaign, presentPage, requireCampaign } from './find.ts';
export { prepareRequest } from './send.ts';

/**
 * Sends a draft, or a campaign that waits for its time. A rejected campaign waits for approval again.
 * @param before the campaign as the request has read it, so that only one of two concurrent requests sends a draft
 * @throws AppError not_found, precondition_failed, invalid_transition; validation_error that lists every problem
 */
export async function send(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  before: Pick<CampaignRow, 'id' | 'status'>,
  { body, prepared, ifMatch }: { body: SendCampaignBody; prepared: Prepared; ifMatch: IfMatch },
): Promise<CampaignRow> {
  const row = await lockForRequest(trx, tenant, before.id, ifMatch);
  if (row.status !== before.status) throw campaignTransitions.refusal(row, 'send');
  const isFixed = row.phase !== 'draft' && row.phase !== 'waiting';
  if (isFixed) {
    if (row.status !== 'paused' || row.approval_state !== 'rejected')
      throw campaignTransitions.refusal(row, 'send');
    const change = { body: { ...body, status: 'active' as const }, prepared, ifMatch: null };
    return changeCampaign(trx, deps, tenant, row.id, change);
  }
  campaignTransitions.requireAllowed(row, 'send');
  await applyChanges(trx, tenant, { ...row, status: 'draft', phase: 'draft' }, body);
  return sendLocked(trx, deps, tenant, await lockForRequest(trx, tenant, row.id, null), prepared);
}

/** @throws AppError not_found, precondition_failed, invalid_transition */
export async function cancel(
  trx: Queryable,
  scope: BrandScope,
  id: number,
  ifMatch: IfMatch,
): Promise<CampaignRow> {
  const row = await lockForRequest(trx, scope, id, ifMatch);
  const canceled = await cancelCampaign(trx, row);
  if (!canceled) throw campaignTransitions.refusal(row, 'cancel');
  return canceled;
}

/** Deletes a draft. @returns the deleted draft @throws AppError not_found, precondition_failed, invalid_transition */
export async function deleteCampaign(
  trx: Queryable,
  { limits }: Pick<CheckDeps, 'limits'>,
  scope: BrandScope,
  id: number,
  ifMatch: IfMatch,
): Promise<Campaign> {
  const row = await lockForRequest(trx, scope, id, ifMatch);
  campaignTransitions.requireAllowed(row, 'delete');
  const shown = await presentCampaign(trx, row, limits);
  await hideCampaign(trx, id);
  await removeDrafts(trx, 'campaigns', [id]);
  return shown;
}

/** Maximum number of recipients that one request queues again. */
const MAX_RESENT = 20_000;

/**
 * Sends again to recipients whose messages the provider may or may not have. The campaign stays
 * completed.
 * @returns how many were queued; if there are more, the next request continues
 * @throws AppError not_found, invalid_transition
 */
export async function resendUnknown(
  trx: Queryable,
  tenant: Tenant,
  id: number,
): Promise<{ row: CampaignRow; requeued: number }> {
  await requireSender(trx, tenant);
  const row = await lockForRequest(trx, tenant, id, null);
  campaignTransitions.requireAllowed(row, 'resend_unknown');
  return { row, requeued: await requeueUnknown(trx, id, MAX_RESENT) };
}
