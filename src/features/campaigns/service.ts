import type pg from 'pg';
import { requeueUnknown } from '../../delivery/blocks/campaign-blocks.ts';
import { AppError, invalid, notFound, Problems } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { requireDraftOfTestKey } from '../../platform/auth/test-keys.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount, SizedItem } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { needsApproval } from '../accounts/service.ts';
import { createList } from '../lists/service.ts';
import { copiedName, copyTemplate } from '../templates/service.ts';
import { applyChanges, type Changes, mergeTrigger } from './apply.ts';
import {
  beginAtOf,
  type CheckDeps,
  makePins,
  type Outside,
  pinContent,
  readOutside,
  requireCampaigns,
  requireSender,
} from './checks.ts';
import { contentSizes, writeContent } from './content.ts';
import { startListFill } from './list-fills.ts';
import {
  type CampaignRow,
  findCampaign,
  findCampaigns,
  hideCampaign,
  insertCampaign,
  readCampaigns,
  updateCampaign,
} from './model.ts';
import { repinAll, repinContent, sendCampaign } from './pins.ts';
import { presentCampaign, presentListed } from './presenter.ts';
import type { ContentSource } from './sender.ts';
import type {
  Campaign,
  CampaignSummary,
  ChangeCampaignBody,
  CreateCampaignBody,
  DuplicateCampaignBody,
  ListCampaignsQuery,
  SendCampaignBody,
} from './schema.ts';
import {
  campaignTransitions,
  cancelCampaign,
  lockCampaign,
  pauseCampaign,
  rescheduleCampaign,
  resumeCampaign,
} from './transitions.ts';

export {
  decide,
  listForOperator,
  type OperatorContent,
  type OperatorView,
  showForOperator,
} from './approvals.ts';

/** @throws AppError not_found */
export async function requireCampaign(db: Queryable, scope: BrandScope, id: number): Promise<CampaignRow> {
  const row = await findCampaign(db, scope, id);
  if (!row) throw notFound('campaign');
  return row;
}

/** Locks a campaign as {@link lockCampaign} does. @throws AppError not_found */
async function lock(trx: Queryable, scope: BrandScope, id: number): Promise<CampaignRow> {
  await requireCampaign(trx, scope, id);
  const row = await lockCampaign(trx, id);
  if (!row) throw notFound('campaign');
  return row;
}

/** @throws AppError not_found */
export async function getCampaign(
  db: Queryable,
  { limits }: Pick<CheckDeps, 'limits'>,
  scope: BrandScope,
  id: number,
): Promise<Campaign> {
  return presentCampaign(db, await requireCampaign(db, scope, id), limits);
}

/** Finds the campaigns of a page, newest first, with how large they are. */
export async function findListed(
  db: Queryable,
  scope: BrandScope,
  query: ListCampaignsQuery,
  page: Page,
): Promise<{ items: SizedItem[]; count: RowCount }> {
  const { rows, count } = await findCampaigns(db, scope, query, page);
  const sizes = await contentSizes(db, rows, query.summary ?? false);
  const items = rows.map(({ id, bytes }, n) => ({ id, bytes: bytes + (sizes[n] ?? 0) }));
  return { items, count };
}

/** Presents campaigns of a page. */
export async function presentPage(
  db: Queryable,
  { limits }: Pick<CheckDeps, 'limits'>,
  scope: BrandScope,
  ids: readonly number[],
  summary: boolean,
): Promise<CampaignSummary[]> {
  return presentListed(db, await readCampaigns(db, scope, ids), limits, summary);
}

/** The trigger of a campaign that does not exist yet. */
const NO_TRIGGER = { contact_list_id: null, segment_id: null, trigger_event: null, trigger_data: {} };

function contentOf(row: CampaignRow | null, { template_attributes: given }: Changes): ContentSource {
  return { templateId: given?.template_id ?? row?.template_id ?? null, fromEmail: given?.from_email };
}

/** Reads what the send of a request needs, before its transaction. @returns null if the request sends nothing */
export async function prepareRequest(
  deps: CheckDeps,
  tenant: Tenant,
  row: CampaignRow | null,
  body: Pick<ChangeCampaignBody, 'channel' | 'status' | 'trigger_attributes' | 'template_attributes'>,
): Promise<Outside | null> {
  const isFixed = row !== null && row.phase !== 'draft' && row.phase !== 'waiting';
  const pins = body.status === 'active' || row?.status === 'paused';
  if (!pins && row?.phase !== 'waiting') return null;
  const channel = body.channel ?? row?.channel ?? 'email';
  const trigger = isFixed ? NO_TRIGGER : mergeTrigger(row ?? NO_TRIGGER, body.trigger_attributes);
  return readOutside(deps, tenant, { trigger: { channel, ...trigger }, content: contentOf(row, body) });
}

/** Sends a locked campaign whose changes are applied. */
async function sendLocked(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  row: CampaignRow,
  outside: Outside,
): Promise<CampaignRow> {
  const account = await requireSender(trx, tenant);
  // A campaign that waits is sent now.
  const scheduledAt = row.status === 'draft' ? row.scheduled_at : null;
  const asOf = new Date();
  const pins = await makePins(trx, deps, tenant, row, outside, { scheduledAt, account, asOf });
  const sent = await sendCampaign(trx, row, pins, { asOf });
  if (!sent) throw campaignTransitions.refusal(row, 'send');
  return sent;
}

/** Creates a campaign, and sends it if the request says so. @throws AppError validation_error, forbidden … */
export async function createCampaign(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  body: CreateCampaignBody,
  outside: Outside | null,
): Promise<CampaignRow> {
  await requireCampaigns(trx, tenant);
  const { name, channel, status, scheduled_at: scheduledAt, ...changes } = body;
  const inserted = await insertCampaign(trx, tenant, {
    ...{ name, channel },
    scheduled_at: scheduledAt ? new Date(scheduledAt) : null,
  });
  const { template_attributes: content = {}, ...others } = changes;
  const templateId = await writeContent(trx, tenant, inserted, content);
  await updateCampaign(trx, inserted.id, { template_id: templateId });
  const { row } = await applyChanges(trx, tenant, { ...inserted, template_id: templateId }, others);
  const created = { ...row, template_id: templateId };
  return status === 'active' && outside ? sendLocked(trx, deps, tenant, created, outside) : created;
}

/** Moves the time of a campaign. */
async function reschedule(trx: Queryable, row: CampaignRow, given: string | null): Promise<CampaignRow> {
  const scheduledAt = given === null ? null : new Date(given);
  if (scheduledAt?.getTime() === row.scheduled_at?.getTime()) return row;
  if (row.status === 'draft') return updateCampaign(trx, row.id, { scheduled_at: scheduledAt });
  campaignTransitions.requireAllowed(row, 'reschedule');
  if (!scheduledAt) {
    throw invalid({ scheduled_at: ['cannot be null while the campaign waits; send it, or cancel it'] });
  }
  const beginAt = beginAtOf(row, scheduledAt, new Date());
  const changed = await rescheduleCampaign(trx, row, { scheduledAt, beginAt });
  if (!changed) throw campaignTransitions.refusal(row, 'reschedule');
  return changed;
}

/** Fields of the sender are part of each recipient's row, once there is one. */
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

/** Pins what has changed of a paused campaign. */
async function repin(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  row: CampaignRow,
  outside: Outside,
): Promise<CampaignRow> {
  const account = await requireSender(trx, tenant);
  if (row.phase === 'waiting') {
    const scheduledAt = row.scheduled_at;
    const asOf = new Date();
    return repinAll(
      trx,
      row,
      await makePins(trx, deps, tenant, row, outside, { scheduledAt, account, asOf }),
    );
  }
  const problems = new Problems();
  const content = await pinContent(trx, outside, tenant, row, problems);
  problems.throwIfAny();
  return repinContent(trx, row, { ...content, needsApproval: needsApproval(account, deps.approvalTiers) });
}

function changeStatus(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  row: CampaignRow,
  status: ChangeCampaignBody['status'],
  outside: Outside | null,
): Promise<CampaignRow> {
  return campaignTransitions.toStatus(row, status, {
    paused: () => pauseCampaign(trx, row),
    async active() {
      if (row.status === 'draft') return outside && sendLocked(trx, deps, tenant, row, outside);
      if (row.status !== 'paused') return null;
      await requireSender(trx, tenant);
      return resumeCampaign(trx, row);
    },
  });
}

/**
 * Changes a campaign.
 * @param outside from {@link prepareRequest}
 * @throws AppError not_found, test_key, validation_error, invalid_transition and those of a send
 */
export async function changeCampaign(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  id: number,
  body: ChangeCampaignBody,
  outside: Outside | null,
): Promise<CampaignRow> {
  const locked = await lock(trx, tenant, id);
  for (const status of [locked.status, body.status]) requireDraftOfTestKey(tenant, status, 'campaigns');
  requireSameSender(locked, body.template_attributes);
  const applied = await applyChanges(trx, tenant, locked, body);
  let { row } = applied;
  if (body.scheduled_at !== undefined) row = await reschedule(trx, row, body.scheduled_at);
  if (row.status === 'paused' && (applied.content || applied.audience)) {
    // Another request has paused it since this one began.
    if (!outside) throw new AppError('conflict', 'the campaign has just been paused; try again');
    row = await repin(trx, deps, tenant, row, outside);
  }
  return changeStatus(trx, deps, tenant, row, body.status, outside);
}

/**
 * Sends a draft, or a campaign that waits for its time. One that was rejected asks for approval again.
 * @param before the campaign as the request has found it: only one of two requests at once sends a draft
 * @throws AppError not_found, invalid_transition; validation_error that names everything that is wrong
 */
export async function send(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  before: Pick<CampaignRow, 'id' | 'status'>,
  body: SendCampaignBody,
  outside: Outside,
): Promise<CampaignRow> {
  const row = await lock(trx, tenant, before.id);
  if (row.status !== before.status) throw campaignTransitions.refusal(row, 'send');
  const isFixed = row.phase !== 'draft' && row.phase !== 'waiting';
  if (isFixed) {
    if (row.status !== 'paused' || row.approval_state !== 'rejected')
      throw campaignTransitions.refusal(row, 'send');
    const changed = await changeCampaign(trx, deps, tenant, row.id, { ...body, status: 'active' }, outside);
    return changed;
  }
  campaignTransitions.requireAllowed(row, 'send');
  await applyChanges(trx, tenant, { ...row, status: 'draft', phase: 'draft' }, body);
  return sendLocked(trx, deps, tenant, await lock(trx, tenant, row.id), outside);
}

/** @throws AppError not_found, invalid_transition */
export async function cancel(trx: Queryable, scope: BrandScope, id: number): Promise<CampaignRow> {
  const row = await requireCampaign(trx, scope, id);
  const canceled = await cancelCampaign(trx, row);
  if (!canceled) throw campaignTransitions.refusal(row, 'cancel');
  return canceled;
}

/** Deletes a draft. @returns it as it was @throws AppError not_found, invalid_transition */
export async function deleteCampaign(
  trx: Queryable,
  { limits }: Pick<CheckDeps, 'limits'>,
  scope: BrandScope,
  id: number,
): Promise<Campaign> {
  const row = await lock(trx, scope, id);
  campaignTransitions.requireAllowed(row, 'delete');
  const shown = await presentCampaign(trx, row, limits);
  await hideCampaign(trx, id);
  return shown;
}

/**
 * Copies a campaign as a draft.
 * @throws AppError not_found; invalid_transition if it is for those who have not opened a campaign without recipients
 */
export async function duplicateCampaign(
  trx: Queryable,
  tenant: Tenant,
  id: number,
  { name, audience }: DuplicateCampaignBody,
): Promise<CampaignRow> {
  await requireCampaigns(trx, tenant);
  const row = await requireCampaign(trx, tenant, id);
  let trigger = { contact_list_id: row.contact_list_id, segment_id: row.segment_id };
  let { trigger_data: data } = row;
  if (audience === 'not_opened') {
    if (row.audience_count === 0) throw campaignTransitions.refusal(row, 'duplicate_without_recipients');
    const list = await createList(trx, tenant, { name: `${row.name.slice(0, 230)}: not opened` });
    await startListFill(trx, row, list.id, { state: 'sent', opened: false });
    trigger = { contact_list_id: list.id, segment_id: null };
    data = {};
  }
  const copy = await insertCampaign(trx, tenant, {
    name: name ?? copiedName(row.name),
    ...{ channel: row.channel, data: row.data, options: row.options },
    ...{ ...trigger, trigger_event: row.trigger_event, trigger_data: data },
  });
  const template = await copyTemplate(trx, tenant, row.template_id ?? 0, { campaignId: copy.id });
  return updateCampaign(trx, copy.id, { template_id: template.id });
}

/** Recipients that one request queues again. */
const MAX_RESENT = 20_000;

/**
 * Sends again to recipients of whom it is not known whether the provider has their message. The campaign stays
 * completed.
 * @returns how many; if there are more, the next request continues
 * @throws AppError not_found, invalid_transition
 */
export async function resendUnknown(
  trx: Queryable,
  tenant: Tenant,
  id: number,
): Promise<{ row: CampaignRow; requeued: number }> {
  await requireSender(trx, tenant);
  const row = await lock(trx, tenant, id);
  campaignTransitions.requireAllowed(row, 'resend_unknown');
  return { row, requeued: await requeueUnknown(trx, id, MAX_RESENT) };
}
