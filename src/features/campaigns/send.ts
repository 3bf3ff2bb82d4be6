/** The send of a campaign: what it reads before its transaction, and what it does in the transaction. */
import type pg from 'pg';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { type Changes, mergeTrigger } from './apply.ts';
import { type CheckDeps, makePins, type Prepared, prepareChecks, requireSender } from './checks.ts';
import type { CampaignRow } from './model.ts';
import { sendCampaign } from './pins.ts';
import type { ContentSource } from './sender.ts';
import type { ChangeCampaignBody } from './schema.ts';
import { campaignTransitions } from './transitions.ts';

/** The trigger of a campaign that does not exist yet. */
const NO_TRIGGER = {
  contact_list_id: null,
  segment_id: null,
  trigger_event: null,
  trigger_data: {},
  trigger_filters: null,
};

function contentOf(row: CampaignRow | null, { template_attributes: given }: Changes): ContentSource {
  return { templateId: given?.template_id ?? row?.template_id ?? null, fromEmail: given?.from_email };
}

/** Reads what a send needs, before the transaction of the request. @returns null if the request sends nothing */
export async function prepareRequest(
  deps: CheckDeps,
  tenant: Tenant,
  row: CampaignRow | null,
  body: Pick<ChangeCampaignBody, 'channel' | 'status' | 'trigger_attributes' | 'template_attributes'>,
): Promise<Prepared | null> {
  const isFixed = row !== null && row.phase !== 'draft' && row.phase !== 'waiting';
  const pins = body.status === 'active' || row?.status === 'paused';
  if (!pins && row?.phase !== 'waiting') return null;
  const channel = body.channel ?? row?.channel ?? 'email';
  const trigger = isFixed ? NO_TRIGGER : mergeTrigger(row ?? NO_TRIGGER, body.trigger_attributes);
  return prepareChecks(deps, tenant, { trigger: { channel, ...trigger }, content: contentOf(row, body) });
}

/** Sends a locked campaign whose changes are applied. */
export async function sendLocked(
  trx: pg.PoolClient,
  deps: CheckDeps,
  tenant: Tenant,
  row: CampaignRow,
  prepared: Prepared,
): Promise<CampaignRow> {
  const account = await requireSender(trx, tenant);
  // If it was waiting for its time, it is sent now.
  const scheduledAt = row.status === 'draft' ? row.scheduled_at : null;
  const asOf = new Date();
  const pins = await makePins(trx, deps, tenant, row, prepared, { scheduledAt, account, asOf });
  const sent = await sendCampaign(trx, row, pins, { asOf });
  if (!sent) throw campaignTransitions.refusal(row, 'send');
  return sent;
}
