/** What `PATCH` does to a campaign: fields, schedule, content and status. */
import type pg from 'pg';
import { AppError, invalid, Problems } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { requireDraftOfTestKey } from '../../platform/auth/test-keys.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Copied } from '../../platform/input/read-only.ts';
import type { IfMatch } from '../../platform/db/revisions.ts';
import { needsApproval } from '../accounts/service.ts';
import { applyChanges, type Changes } from './apply.ts';
import { beginAtOf, type CheckDeps, makePins, type Prepared, pinContent, requireSender } from './checks.ts';
import { type CampaignRow, updateCampaign } from './model.ts';
import { requireCopy } from './presenter.ts';
import { repinAll, repinContent } from './pins.ts';
import type { ChangeCampaignBody } from './schema.ts';
import { campaignTransitions, pauseCampaign, rescheduleCampaign, resumeCampaign } from './transitions.ts';
import { lockForRequest } from './find.ts';
import { sendLocked } from './send.ts';

/** Reschedules a campaign. */
async function reschedule(trx: Queryable, row: CampaignRow, given: string | null): Promise<CampaignRow> {
  const scheduledAt = given === null ? null : new Date(given);
  if (scheduledAt?.getTime() === row.scheduled_at?.getTime()) return row;
  if (row.status === 'draft') return updateCampaign(trx, row, { scheduled_at: scheduledAt });
  campaignTransitions.requireAllowed(row, 'reschedule');
  if (!scheduledAt) {
    throw invalid({
      scheduled_at: ['cannot be null while the campaign waits for its time; send it or cancel it instead'],
    });
  }
  const beginAt = beginAtOf(row, scheduledAt, new Date());
  const changed = await rescheduleCampaign(trx, row, { scheduledAt, beginAt });
  if (!changed) throw campaignTransitions.refusal(row, 'reschedule');
  return changed;
}

/** Sender fields cannot change once there are recipients, because each recipient's row contains them. */
function requireSameSender(row: CampaignRow, content: Changes['template_attributes']): void {
  if (!content || row.phase === 'draft' || row.phase === 'waiting') return;
  const fixed = ['from_name', 'from_email', 'reply_to'] as const;
  const problems = new Problems();
  for (const field of fixed) {
    if (content[field] === undefined) continue;
    problems.add({ [`template_attributes.${field}`]: ['cannot change once the recipients are fixed'] });
  }
  problems.throwIfAny();
}

/** Pins the changes to a paused campaign. */
async function repin(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  row: CampaignRow,
  prepared: Prepared,
): Promise<CampaignRow> {
  const account = await requireSender(trx, tenant);
  if (row.phase === 'waiting') {
    const scheduledAt = row.scheduled_at;
    const asOf = new Date();
    return repinAll(
      trx,
      row,
      await makePins(trx, deps, tenant, row, prepared, { scheduledAt, account, asOf }),
    );
  }
  const problems = new Problems();
  const content = await pinContent(trx, prepared, tenant, row, problems);
  problems.throwIfAny();
  return repinContent(trx, row, { ...content, needsApproval: needsApproval(account, deps.approvalTiers) });
}

function changeStatus(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  row: CampaignRow,
  status: ChangeCampaignBody['status'],
  prepared: Prepared | null,
): Promise<CampaignRow> {
  return campaignTransitions.toStatus(row, status, {
    paused: () => pauseCampaign(trx, row),
    async active() {
      if (row.status === 'draft') return prepared && sendLocked(trx, deps, tenant, row, prepared);
      if (row.status !== 'paused') return null;
      await requireSender(trx, tenant);
      return resumeCampaign(trx, row);
    },
  });
}

export interface RequestedChange {
  body: ChangeCampaignBody;
  /** By default none. */
  copied?: Copied;
  /** From `prepareRequest`. */
  prepared: Prepared | null;
  ifMatch: IfMatch;
}

/**
 * Changes a campaign.
 * @throws AppError not_found, precondition_failed, test_key, validation_error, invalid_transition and those of a send
 */
export async function changeCampaign(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  id: number,
  { body, copied, prepared, ifMatch }: RequestedChange,
): Promise<CampaignRow> {
  const locked = await lockForRequest(trx, tenant, id, ifMatch);
  for (const status of [locked.status, body.status]) requireDraftOfTestKey(tenant, status, 'campaigns');
  if (copied) await requireCopy(trx, locked, copied);
  requireSameSender(locked, body.template_attributes);
  const applied = await applyChanges(trx, tenant, locked, body);
  let { row } = applied;
  if (body.scheduled_at !== undefined) row = await reschedule(trx, row, body.scheduled_at);
  if (row.status === 'paused' && (applied.content || applied.audience)) {
    // Another request has paused the campaign since this one began.
    if (!prepared) throw new AppError('conflict', 'the campaign has just been paused; try again');
    row = await repin(trx, deps, tenant, row, prepared);
  }
  return changeStatus(trx, deps, tenant, row, body.status, prepared);
}
