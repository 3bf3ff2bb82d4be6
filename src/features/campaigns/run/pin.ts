/** Handles audiences that were pinned by earlier versions, or name lists or segments that have been deleted. */
import type pg from 'pg';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { closeFilters, type NamedByFilters } from '../../segments/index.ts';
import { filterSetsOf, pinAudience } from '../audience.ts';
import { type CampaignRow, type CampaignStop, lockCampaignRow, storeAudience } from '../model.ts';
import { isPinned, type NamedAudience } from '../pinned-audience.ts';
import { lockCampaign, pauseCampaign } from '../transitions.ts';
import { missingLists } from './audience-source.ts';

const isNeeded = ({ status, phase }: CampaignRow): boolean =>
  (status === 'active' || status === 'paused') && (phase === 'waiting' || phase === 'snapshot');

/**
 * Whether the audience of a campaign is still needed, but was pinned before pins had a version.
 * @throws Error if a newer version has pinned it; a process of that version must continue
 */
export function isFormerPin(row: CampaignRow): row is CampaignRow & { audience: NamedAudience } {
  const { audience } = row;
  if (audience === null || isPinned(audience) || !isNeeded(row)) return false;
  if ('version' in audience) throw new Error('the audience was pinned by a newer version of Carillon');
  return true;
}

/** Resolves what a former pin names, without limits: sizes were checked at the send, and may have grown since. */
const namedBy = (db: Queryable, { brand_id: brandId }: CampaignRow, audience: NamedAudience) =>
  closeFilters(db, { brandId }, filterSetsOf(audience), { max: Infinity });

async function isDeleted(db: Queryable, audience: NamedAudience, named: NamedByFilters): Promise<boolean> {
  if (named.missingIds.length > 0) return true;
  return (await missingLists(db, pinAudience(audience, named).listIds)).length > 0;
}

/**
 * Expands an audience that was pinned in the former form.
 * @returns false if it names a deleted list or segment, so that it is unknown which contacts it selects
 */
export async function expandFormerPin(pool: pg.Pool, campaignId: number): Promise<boolean> {
  return inTransaction(pool, async (trx) => {
    const row = await lockCampaignRow(trx, campaignId);
    if (!row || !isFormerPin(row)) return true;
    const named = await namedBy(trx, row, row.audience);
    if (await isDeleted(trx, row.audience, named)) return false;
    await storeAudience(trx, campaignId, pinAudience(row.audience, named));
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
 * Pauses a campaign whose audience names a deleted list or segment. Only earlier versions allowed such deletions.
 * @returns whether it has been paused; if so, wake `outbox`
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
