/** New campaigns: from a request, and as a copy. */
import type pg from 'pg';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { createList } from '../lists/service.ts';
import { copiedName, copyTemplate } from '../templates/service.ts';
import { applyChanges } from './apply.ts';
import { type CheckDeps, type Prepared, requireCampaigns } from './checks.ts';
import { writeContent } from './content.ts';
import { startListFill } from './list-fills.ts';
import { type CampaignRow, insertCampaign, updateCampaign } from './model.ts';
import type { CreateCampaignBody, DuplicateCampaignBody } from './schema.ts';
import { campaignTransitions } from './transitions.ts';
import { requireCampaign } from './find.ts';
import { sendLocked } from './send.ts';

/** Creates a campaign, and sends it if the request asks for that. @throws AppError validation_error, forbidden … */
export async function createCampaign(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  body: CreateCampaignBody,
  prepared: Prepared | null,
): Promise<CampaignRow> {
  await requireCampaigns(trx, tenant);
  const { name, channel, status, scheduled_at: scheduledAt, ...changes } = body;
  const inserted = await insertCampaign(trx, tenant, {
    name,
    channel,
    scheduled_at: scheduledAt ? new Date(scheduledAt) : null,
  });
  const { template_attributes: content = {}, ...others } = changes;
  const templateId = await writeContent(trx, tenant, inserted, content);
  const withContent = await updateCampaign(trx, inserted, { template_id: templateId });
  const { row: created } = await applyChanges(trx, tenant, withContent, others);
  return status === 'active' && prepared ? sendLocked(trx, deps, tenant, created, prepared) : created;
}

/**
 * Copies a campaign as a draft.
 * @throws AppError not_found; invalid_transition for `not_opened` if the campaign has no recipients
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
    const list = await createList(trx, tenant, {
      name: `${row.name.slice(0, 230)}: not opened`,
      visible: false,
    });
    await startListFill(trx, row, list.id, { state: 'sent', opened: false });
    trigger = { contact_list_id: list.id, segment_id: null };
    data = {};
  }
  const copy = await insertCampaign(trx, tenant, {
    name: name ?? copiedName(row.name),
    channel: row.channel,
    data: row.data,
    options: row.options,
    ...trigger,
    trigger_event: row.trigger_event,
    trigger_data: data,
  });
  const template = await copyTemplate(trx, tenant, row.template_id ?? 0, { campaignId: copy.id });
  return updateCampaign(trx, copy, { template_id: template.id });
}
