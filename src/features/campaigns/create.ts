/** New campaigns: from a request, and as a copy. */
import type pg from 'pg';
import { invalid } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Filter } from '../segments/index.ts';
import { copiedName, copyTemplate } from '../templates/service.ts';
import { applyChanges } from './apply.ts';
import { type CheckDeps, type Prepared, requireCampaigns } from './checks.ts';
import { writeContent } from './content.ts';
import { type CampaignRow, type CampaignValues, insertCampaign, updateCampaign } from './model.ts';
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

/** Selects the contacts who were sent a campaign and have not opened it. */
function notOpenedFilters(campaignId: number): Filter[] {
  const value = { campaign_id: campaignId };
  return [
    { name: 'email_sent', predicate: 'did', value },
    { name: 'email_opened', predicate: 'did_not', value },
  ];
}

/**
 * The trigger of a copy for those who have not opened a campaign, with the same list, segment and exclusions: contacts
 * who have left the list since must get nothing.
 * @throws AppError invalid_transition if the campaign has no recipients; validation_error if its opens were not recorded
 */
function notOpenedTrigger(row: CampaignRow): CampaignValues {
  if (row.audience_count === 0) throw campaignTransitions.refusal(row, 'duplicate_without_recipients');
  if (row.channel !== 'email' || row.tracking?.opens !== true) {
    throw invalid({ audience: ['is not possible, because the opens of this campaign were not recorded'] });
  }
  const filters = notOpenedFilters(row.id);
  const { contact_list_id, segment_id, trigger_data } = row;
  const { exclude_list_ids, exclude_segment_ids } = trigger_data;
  return {
    contact_list_id,
    segment_id,
    trigger_data: {
      filters,
      ...(exclude_list_ids === undefined ? {} : { exclude_list_ids }),
      ...(exclude_segment_ids === undefined ? {} : { exclude_segment_ids }),
    },
    trigger_filters: filters,
  };
}

const sameTrigger = ({ contact_list_id, segment_id, trigger_data, trigger_filters }: CampaignRow) => ({
  ...{ contact_list_id, segment_id, trigger_data, trigger_filters },
});

/**
 * Copies a campaign as a draft.
 * @throws AppError not_found; for `not_opened` those of {@link notOpenedTrigger}
 */
export async function duplicateCampaign(
  trx: Queryable,
  tenant: Tenant,
  id: number,
  { name, audience }: DuplicateCampaignBody,
): Promise<CampaignRow> {
  await requireCampaigns(trx, tenant);
  const row = await requireCampaign(trx, tenant, id);
  const copy = await insertCampaign(trx, tenant, {
    name: name ?? copiedName(row.name),
    channel: row.channel,
    data: row.data,
    options: row.options,
    trigger_event: row.trigger_event,
    ...(audience === 'not_opened' ? notOpenedTrigger(row) : sameTrigger(row)),
  });
  const template = await copyTemplate(trx, tenant, row.template_id ?? 0, { campaignId: copy.id });
  return updateCampaign(trx, copy, { template_id: template.id });
}
