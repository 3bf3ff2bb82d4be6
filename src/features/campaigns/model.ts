import type { ModelObject } from 'objection';
import type { Channel } from '../../delivery/message.ts';
import { type BrandScope, TenantModel } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { CampaignOptions } from './options.ts';

export const campaignStatuses = ['draft', 'active', 'paused', 'completed'] as const;
export type CampaignStatus = (typeof campaignStatuses)[number];

/** How far the server is; see the comment of the column. */
export type CampaignPhase = 'draft' | 'waiting' | 'snapshot' | 'sending' | 'done';

export const approvalStates = ['not_required', 'pending', 'approved', 'rejected'] as const;
export type ApprovalState = (typeof approvalStates)[number];

export type CampaignOutcome = 'completed' | 'canceled' | 'failed';

export const stopReasons = [
  'bounce_rate',
  'complaint_rate',
  'rejected',
  'sender_not_verified',
  'sandbox_limit_reached',
  'spend_cap_reached',
  'insufficient_funds',
] as const;

/** Why the service paused a campaign. `rate` and `threshold` are null unless a rate was the reason. */
export interface CampaignStop {
  reason: (typeof stopReasons)[number];
  rate: number | null;
  threshold: number | null;
  /** ISO 8601. */
  at: string;
}

/** Whom a campaign is sent to, as it was when the campaign was sent. Contacts in both the list and the segment get it. */
export interface PinnedAudience {
  listId: number | null;
  segmentId: number | null;
  /** Of the segment; null without one. */
  filters: unknown[] | null;
  excludeListIds: number[];
  excludeSegmentIds: number[];
  /** Of each excluded segment. */
  excludeFilters: unknown[][];
}

export class CampaignModel extends TenantModel {
  static override readonly tableName = 'campaigns';
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'channel',
    'name',
    'status',
    'phase',
    'approval_state',
    'data',
    'options',
    'scheduled_at',
    'begin_at',
    'template_id',
    'contact_list_id',
    'segment_id',
    'trigger_event',
    'trigger_data',
    'triggered_count',
    'last_triggered_at',
    'trigger_created_at',
    'trigger_updated_at',
    'audience',
    'version_ids',
    'variant_template_ids',
    'from_address',
    'reply_to',
    'domain_id',
    'provider_id',
    'tracking',
    'max_contact_id',
    'cursor',
    'audience_count',
    'next_block',
    'counted_from',
    'outcome',
    'stop',
    'started_at',
    'snapshot_at',
    'sending_at',
    'paused_at',
    'finished_at',
    'engine_expected_by',
    'created_at',
    'updated_at',
  ];

  declare account_id: number;
  declare brand_id: number;
  declare channel: Channel;
  declare name: string;
  declare status: CampaignStatus;
  declare phase: CampaignPhase;
  declare approval_state: ApprovalState;
  declare data: Record<string, unknown>;
  declare options: CampaignOptions;
  declare scheduled_at: Date | null;
  declare begin_at: Date | null;
  declare template_id: number | null;
  declare contact_list_id: number | null;
  declare segment_id: number | null;
  declare trigger_event: string | null;
  declare trigger_data: Record<string, unknown>;
  declare triggered_count: number;
  declare last_triggered_at: Date | null;
  declare trigger_created_at: Date;
  declare trigger_updated_at: Date;
  declare audience: PinnedAudience | null;
  /** By variant. */
  declare version_ids: number[];
  /** By variant. */
  declare variant_template_ids: number[];
  declare from_address: string | null;
  declare reply_to: string | null;
  declare domain_id: number | null;
  declare provider_id: number | null;
  declare tracking: Record<string, unknown> | null;
  declare max_contact_id: number | null;
  declare cursor: number;
  declare audience_count: number;
  declare next_block: number;
  declare counted_from: Date | null;
  declare outcome: CampaignOutcome | null;
  declare stop: CampaignStop | null;
  declare started_at: Date | null;
  declare snapshot_at: Date | null;
  declare sending_at: Date | null;
  declare paused_at: Date | null;
  declare finished_at: Date | null;
  declare engine_expected_by: Date | null;
  declare created_at: Date;
  declare updated_at: Date;
}

export type CampaignRow = ModelObject<CampaignModel>;

export const CAMPAIGN_COLUMNS = CampaignModel.columns.join(', ');

/** For the workflow and operators, who work for all tenants. @returns null if there is none */
export async function findCampaignById(db: Queryable, id: number): Promise<CampaignRow | null> {
  const { rows } = await db.query<CampaignRow>(
    `select ${CAMPAIGN_COLUMNS} from campaigns where id = $1 and removed_at is null`,
    [id],
  );
  return rows[0] ?? null;
}

/** @returns null if the brand has no such campaign */
export async function findCampaign(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  id: number,
): Promise<CampaignRow | null> {
  const { rows } = await db.query<CampaignRow>(
    `select ${CAMPAIGN_COLUMNS} from campaigns
     where id = $3 and account_id = $1 and brand_id = $2 and removed_at is null`,
    [accountId, brandId, id],
  );
  return rows[0] ?? null;
}
