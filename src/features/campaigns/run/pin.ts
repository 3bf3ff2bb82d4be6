/** The pinned audience of a campaign that waits, or whose recipients are being written. */
import type pg from 'pg';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { closeFilters, type NamedByFilters } from '../../segments/service.ts';
import { filterSetsOf, pinAudience } from '../audience.ts';
import { type CampaignRow, type CampaignStop, isPinned, type NamedAudience } from '../model.ts';
import { lockCampaign, lockCampaignRow, pauseCampaign } from '../transitions.ts';
import { missingLists } from './audience-source.ts';

const isNeeded = ({ status, phase }: CampaignRow): boolean =>
  (status === 'active' || status === 'paused') && (phase === 'waiting' || phase === 'snapshot');

/**
 * Whether the audience of a campaign is still needed, and was pinned before pins had a version.
 * @throws Error if it was pinned by a newer process, which goes on with it
 */
export function isFormerPin(row: CampaignRow): row is CampaignRow & { audience: NamedAudience } {
  const { audience } = row;
  if (audience === null || isPinned(audience) || !isNeeded(row)) return false;
  if ('version' in audience) throw new Error('the audience was pinned by a newer version of Carillon');
  return true;
}

/** What a former pin names. All of it has been checked for its size when it was sent, or has grown since. */
const namedBy = (db: Queryable, { brand_id: brandId }: CampaignRow, audience: NamedAudience) =>
  closeFilters(db, { brandId }, filterSetsOf(audience), { max: Infinity });

async function isDeleted(db: Queryable, audience: NamedAudience, named: NamedByFilters): Promise<boolean> {
  if (named.missingIds.length > 0) return true;
  return (await missingLists(db, pinAudience(audience, named).listIds)).length > 0;
}

/**
 * Expands the audience of a campaign that was pinned in the former form.
 * @returns false if it names a list or segment that was deleted: nobody knows any more whom it selects
 */
export async function expandFormerPin(pool: pg.Pool, campaignId: number): Promise<boolean> {
  return inTransaction(pool, async (trx) => {
    const row = await lockCampaignRow(trx, campaignId);
    if (!row || !isFormerPin(row)) return true;
    const named = await namedBy(trx, row, row.audience);
    if (await isDeleted(trx, row.audience, named)) return false;
    await trx.query('update campaigns set audience = $2 where id = $1', [
      campaignId,
      JSON.stringify(pinAudience(row.audience, named)),
    ]);
    return true;
  });
}

async function hasDeletedAudience(db: Queryable, row: CampaignRow): Promise<boolean> {
  const { audience } = row;
  if (audience === null) return false;
  if (isPinned(audience)) return (await missingLists(db, audience.listIds)).length > 0;
  return isFormerPin(row) && isDeleted(db, audience, await namedBy(db, row, audience));
}

/**
 * Pauses a campaign whose audience names what was deleted. Present processes refuse such deletions; former ones did not.
 * @returns whether it is paused now. Wake `outbox` then.
 */
export async function pauseWithoutAudience(pool: pg.Pool, campaignId: number, asOf: Date): Promise<boolean> {
  return inTransaction(pool, async (trx) => {
    const row = await lockCampaign(trx, campaignId);
    if (!row || !(await hasDeletedAudience(trx, row))) return false;
    const at = asOf.toISOString();
    const stop: CampaignStop = { reason: 'audience_deleted', rate: null, threshold: null, at };
    return (await pauseCampaign(trx, row, { stop, asOf })) !== null;
  });
}
