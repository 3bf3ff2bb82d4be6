import { fn, type ModelObject, raw } from 'objection';
import type { Channel } from '../../delivery/terms/message.ts';
import { type AccountBound, requireWithinBound } from '../../platform/db/account-bound.ts';
import { type BrandScope, TenantModel } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { changedValues, raisedRevision } from '../../platform/db/revisions.ts';
import type { CampaignOptions } from './options.ts';
import type { NamedAudience, PinnedAudience } from './pinned-audience.ts';

export const campaignStatuses = ['draft', 'active', 'paused', 'completed'] as const;
export type CampaignStatus = (typeof campaignStatuses)[number];

/** How far the service has come with the campaign; see the comment of the column. */
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
  'audience_deleted',
] as const;

/**
 * Whether each recipient's message is due at the clock time of `scheduled_at` in its own zone. A campaign that was sent
 * at once has no such time, whatever its options are.
 */
export const isLocalTime = ({
  options,
  scheduled_at: at,
}: Pick<CampaignRow, 'options' | 'scheduled_at'>): boolean =>
  options.send_at_local_time === true && at !== null;

/** Why the service paused a campaign. `rate` and `threshold` are null if the reason is not a rate. */
export interface CampaignStop {
  reason: (typeof stopReasons)[number];
  rate: number | null;
  threshold: number | null;
  /** ISO 8601. */
  at: string;
}

export class CampaignModel extends TenantModel {
  static override readonly tableName = 'campaigns';
  static override readonly jsonColumns = [
    'data',
    'options',
    'trigger_data',
    'trigger_filters',
    'audience',
    'tracking',
    'stop',
  ];
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
    'trigger_filters',
    'triggered_count',
    'last_triggered_at',
    'trigger_created_at',
    'trigger_updated_at',
    'audience',
    'version_ids',
    'variant_template_ids',
    'sent_name',
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
    'winner',
    'outcome',
    'stop',
    'started_at',
    'snapshot_at',
    'sending_at',
    'paused_at',
    'finished_at',
    'engine_expected_by',
    'revision',
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
  /** See `filtersOf`. */
  declare trigger_filters: unknown[] | null;
  declare triggered_count: number;
  declare last_triggered_at: Date | null;
  declare trigger_created_at: Date;
  declare trigger_updated_at: Date;
  declare audience: NamedAudience | null;
  /** By variant. */
  declare version_ids: number[];
  /** By variant. */
  declare variant_template_ids: number[];
  /** The name that contents show: that at the time of their pinning. */
  declare sent_name: string | null;
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
  /** The variant that won the A/B test. */
  declare winner: number | null;
  declare outcome: CampaignOutcome | null;
  declare stop: CampaignStop | null;
  declare started_at: Date | null;
  declare snapshot_at: Date | null;
  declare sending_at: Date | null;
  declare paused_at: Date | null;
  declare finished_at: Date | null;
  declare engine_expected_by: Date | null;
  declare revision: number;
  declare removed_at: Date | null;
  declare created_at: Date;
  declare updated_at: Date;
}

export type CampaignRow = Omit<ModelObject<CampaignModel>, 'removed_at'>;

export const CAMPAIGN_COLUMNS = CampaignModel.columns.join(', ');

/** For the workflow and operators, which work across tenants. @returns null if there is none */
export async function findCampaignById(db: Queryable, id: number): Promise<CampaignRow | null> {
  const [row] = await CampaignModel.on(db)
    .where('id', id)
    .whereNull('removed_at')
    .select(CampaignModel.columns);
  return row ?? null;
}

/** @returns null if the brand has no such campaign */
export async function findCampaign(
  db: Queryable,
  scope: BrandScope,
  id: number,
): Promise<CampaignRow | null> {
  const [row] = await CampaignModel.ofBrand(db, scope)
    .where('id', id)
    .whereNull('removed_at')
    .select(CampaignModel.columns);
  return row ?? null;
}

/** Reads and locks the row of a campaign. @returns null if there is none */
export async function lockCampaignRow(trx: Queryable, id: number): Promise<CampaignRow | null> {
  const [row] = await CampaignModel.on(trx)
    .where('id', id)
    .whereNull('removed_at')
    .forUpdate()
    .select(CampaignModel.columns);
  return row ?? null;
}

/** The columns that a client sets. */
export type CampaignValues = Partial<
  Pick<
    CampaignRow,
    | 'name'
    | 'channel'
    | 'data'
    | 'options'
    | 'scheduled_at'
    | 'contact_list_id'
    | 'segment_id'
    | 'trigger_event'
    | 'trigger_data'
    | 'trigger_filters'
    | 'template_id'
    | 'trigger_updated_at'
    | 'audience'
  >
>;

/** Only drafts count: others cannot be deleted. */
const BOUND: AccountBound = {
  ...{
    table: 'campaigns',
    where: `r.removed_at is null and r.status = 'draft'`,
    noun: ' drafts',
    columns: ['data', 'options', 'trigger_data', 'audience'],
  },
  ...{ maxRows: 50_000, maxBytes: 1024 ** 3 },
};

/** @throws AppError validation_error if the account has too many */
export async function insertCampaign(
  trx: Queryable,
  scope: BrandScope,
  values: CampaignValues & Pick<CampaignRow, 'name' | 'channel'>,
): Promise<CampaignRow> {
  const row = await CampaignModel.on(trx)
    .insert({ ...values, account_id: scope.accountId, brand_id: scope.brandId })
    .returning(CampaignModel.columns);
  await requireWithinBound(trx, scope, BOUND, 'added');
  return row;
}

/** Changes a locked campaign, unless the values are its own. */
export async function updateCampaign(
  trx: Queryable,
  row: CampaignRow,
  values: CampaignValues,
): Promise<CampaignRow> {
  const changes = changedValues(row, values);
  if (!changes) return row;
  const [changed] = await CampaignModel.ofBrand(trx, { accountId: row.account_id, brandId: row.brand_id })
    .where('id', row.id)
    .patch({ ...changes, ...raisedRevision(), updated_at: fn.now() })
    .returning(CampaignModel.columns);
  return changed as CampaignRow;
}

/** Stores the audience of a locked campaign in another form. */
export async function storeAudience(trx: Queryable, id: number, audience: PinnedAudience): Promise<void> {
  await CampaignModel.on(trx).where('id', id).patch({ audience });
}

/** Stores the variant that won the A/B test of a locked campaign. */
export async function storeWinner(trx: Queryable, id: number, winner: number): Promise<void> {
  await CampaignModel.on(trx).where('id', id).patch({ winner });
}

/** Ends a locked campaign. @param asOf when it ended, unless a cancellation has ended it before */
export async function endCampaign(
  trx: Queryable,
  id: number,
  outcome: CampaignOutcome,
  asOf: Date,
): Promise<void> {
  await CampaignModel.on(trx)
    .where('id', id)
    .patch({
      ...{ status: 'completed', phase: 'done', outcome },
      ...{
        finished_at: raw('coalesce(finished_at, ?)', [asOf]),
        engine_expected_by: null,
        updated_at: fn.now(),
      },
    });
}

/** Hides a locked draft with its templates. Housekeeping removes the rows. */
export async function hideCampaign(trx: Queryable, id: number): Promise<void> {
  await trx.query(
    `with hidden as (update templates set removed_at = now() where campaign_id = $1 and removed_at is null)
     update campaigns set removed_at = now() where id = $1`,
    [id],
  );
}
