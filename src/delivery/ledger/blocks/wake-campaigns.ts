import type { Queryable } from '../../../platform/db/queryable.ts';
import { campaignSignals, campaignWorkflowPrefix } from '../../../../workflows/campaigns/contract.ts';

/**
 * SQL: an expression of a `with` clause that signals the workflows of campaigns to read their rows again, once each. A
 * workflow sleeps while the blocks of its campaign are held, so add this to every statement that makes them due early.
 * @param blocks SQL: a table with the `campaign_id` of blocks
 */
export const wakeCampaignsCte = (blocks: string): string => `, woken_campaigns as (${wakeCampaignsSql(blocks)}
  )`;

/** SQL: a statement that does the same. */
export const wakeCampaignsSql = (blocks: string): string => `
    insert into outbox (kind, workflow_id, signal_name)
    select distinct 'signal', '${campaignWorkflowPrefix}' || campaign_id, '${campaignSignals.wake}' from ${blocks}`;

/**
 * Signals the campaigns that are sent from a deleted domain, whatever they wait for, so that they pause. Wake `outbox`
 * after the commit.
 */
export async function wakeCampaignsOfDomain(
  trx: Queryable,
  { accountId, domainId }: { accountId: number; domainId: number },
): Promise<void> {
  await trx.query(
    `with sent as (
       select id as campaign_id from campaigns
       where account_id = $1 and domain_id = $2 and status = 'active' and phase in ('snapshot', 'sending')
     )${wakeCampaignsCte('sent')}
     select 1`,
    [accountId, domainId],
  );
}
