import type { Queryable } from '../../../platform/db/queryable.ts';

/**
 * Waits for the intents of a campaign that are under way, and blocks new ones until the transaction ends. Call it first
 * in a transaction that pauses, cancels or otherwise stops a campaign, before the campaign's row is locked: once the
 * transaction is committed, only batches that were intended before can still leave.
 *
 * Advisory locks queue in order, so the wait ends with the intents under way, however many follow.
 * @param trx inside a transaction
 */
export async function lockCampaignForChange(trx: Queryable, campaignId: number): Promise<void> {
  await trx.query('select stop_campaign_intents($1)', [campaignId]);
}
