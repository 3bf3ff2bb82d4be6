-- Makes due the blocks that wait for a domain, and signals the workflows of their campaigns.
--
-- sent by: releaseBlocks
-- $1 bigint: the account
-- $2 bigint: the domain
-- locks: campaign_blocks by campaign and number
with held as materialized (
  select campaign_id, n from campaign_blocks
  where account_id = $1 and domain_id = $2 and hold_reason = 'domain_unverified' and owner is null and closed_at is null
  order by campaign_id, n for update
), released as (
  update campaign_blocks b set due_at = now(), hold_reason = null
  from held h where b.campaign_id = h.campaign_id and b.n = h.n returning b.provider_id
)
-- <woken_campaigns>
, woken_campaigns as (
  insert into outbox (kind, workflow_id, signal_name)
  select distinct 'signal', 'campaign/' || campaign_id, 'wake' from held
)
-- </woken_campaigns>
select distinct provider_id as "providerId" from released
