/**
 * What the send of a campaign pins: its audience, contents and sender. Changes to a paused campaign are pinned again.
 */
import type { Queryable } from '../../platform/db/queryable.ts';
import { isSameAudience } from './audience.ts';
import type { CampaignRow } from './model.ts';
import type { PinnedAudience } from './pinned-audience.ts';
import { type At, campaignTransitions, expected } from './transitions.ts';

/** Everything about a campaign that its send pins. */
export interface Pins {
  audience: PinnedAudience;
  /** By variant. */
  versionIds: number[];
  /** By variant; empty without variants. */
  variantTemplateIds: number[];
  fromAddress: string | null;
  replyTo: string | null;
  domainId: number | null;
  /** The id of the named provider; 0 for the one in the settings. */
  providerId: number;
  tracking: Record<string, unknown> | null;
  needsApproval: boolean;
  scheduledAt: Date | null;
  /** When the snapshot begins. */
  beginAt: Date;
}

const contentsOf = (ids: string) =>
  `(select array_agg(v.content_hash order by i.n)
    from unnest(${ids}::bigint[]) with ordinality as i (id, n) join template_versions v on v.id = i.id)`;

/** Whether an operator has already approved the same content for the same audience. */
async function isApproved(trx: Queryable, row: CampaignRow, pins: Pins): Promise<boolean> {
  if (row.approval_state !== 'approved' || row.sent_name !== row.name) return false;
  if (row.from_address !== pins.fromAddress || row.reply_to !== pins.replyTo) return false;
  if (!isSameAudience(row.audience, pins.audience)) return false;
  const { rows } = await trx.query<{ same: boolean | null }>(
    `select ${contentsOf('$1')} = ${contentsOf('$2')} as same`,
    [row.version_ids, pins.versionIds],
  );
  return rows[0]?.same === true;
}

/** SQL: the columns that {@link pinnedValues} sets. */
const PINNED = `audience = $2, version_ids = $3, variant_template_ids = $4, from_address = $5, reply_to = $6,
  domain_id = $7, provider_id = $8, tracking = $9, begin_at = $10, sent_name = name`;

function pinnedValues(pins: Pins): unknown[] {
  return [
    JSON.stringify(pins.audience),
    pins.versionIds,
    pins.variantTemplateIds,
    pins.fromAddress,
    pins.replyTo,
    pins.domainId,
    pins.providerId,
    pins.tracking && JSON.stringify(pins.tracking),
    pins.beginAt,
  ];
}

/**
 * Sends a draft, or a campaign that waits for its time, with its current content.
 * @param read the row as the request has read it. If its status has changed since, nothing happens, so that only one of
 *   two concurrent requests sends a draft
 * @returns null if it cannot be sent, or another request was faster
 */
export async function sendCampaign(
  trx: Queryable,
  read: Pick<CampaignRow, 'id' | 'status'>,
  pins: Pins,
  { asOf = new Date() }: At = {},
): Promise<CampaignRow | null> {
  const row = await campaignTransitions.begin(trx, read.id, 'send');
  if (!row || row.status !== read.status) return null;
  const again = pins.needsApproval && !(await isApproved(trx, row, pins));
  const approval = again ? 'pending' : pins.needsApproval ? 'approved' : 'not_required';
  return campaignTransitions.changeLocked(
    trx,
    row.id,
    `${PINNED}, status = 'active', phase = 'waiting', paused_at = null, stop = null, outcome = null,
     approval_state = $11, scheduled_at = $12, counted_from = $13::timestamptz, started_at = coalesce(started_at, $13),
     triggered_count = triggered_count + 1, last_triggered_at = $13, ${expected}`,
    [...pinnedValues(pins), approval, pins.scheduledAt, asOf],
  );
}

/** Returns the approval state of a paused campaign after a change of its content or audience. */
const approvalAgain = (
  { approval_state: state }: Pick<CampaignRow, 'approval_state'>,
  { needsApproval }: Pick<Pins, 'needsApproval'>,
): CampaignRow['approval_state'] => {
  if (!needsApproval) return 'not_required';
  return state === 'rejected' ? 'rejected' : 'pending';
};

/** Pins changed content of a paused campaign, for the remaining recipients. @param row the locked row */
export function repinContent(
  trx: Queryable,
  row: Pick<CampaignRow, 'id' | 'approval_state'>,
  pins: Pick<Pins, 'versionIds' | 'variantTemplateIds' | 'needsApproval'>,
): Promise<CampaignRow> {
  return campaignTransitions.changeLocked(
    trx,
    row.id,
    `version_ids = $2, variant_template_ids = $3, approval_state = $4, sent_name = name, ${expected}`,
    [pins.versionIds, pins.variantTemplateIds, approvalAgain(row, pins)],
  );
}

/** Pins everything again for a paused campaign whose recipients have not been written yet. @param row the locked row */
export function repinAll(
  trx: Queryable,
  row: Pick<CampaignRow, 'id' | 'approval_state'>,
  pins: Pins,
): Promise<CampaignRow> {
  return campaignTransitions.changeLocked(trx, row.id, `${PINNED}, approval_state = $11, ${expected}`, [
    ...pinnedValues(pins),
    approvalAgain(row, pins),
  ]);
}
