import { campaignSignals, campaignWorkflowPrefix } from '../../workflows/campaigns/contract.ts';

/**
 * SQL: an expression of a `with` clause that signals the workflows of campaigns to read their rows again, once each. A
 * workflow sleeps while the blocks of its campaign are held, so add it to what makes them due before their time.
 * @param blocks SQL: a table with the `campaign_id` of blocks
 */
export const wakeCampaignsCte = (blocks: string): string => `, woken_campaigns as (
    insert into outbox (kind, workflow_id, signal_name)
    select distinct 'signal', '${campaignWorkflowPrefix}' || campaign_id, '${campaignSignals.wake}' from ${blocks}
  )`;
