-- Moves due blocks of an account's campaigns to the first provider of its order that works, as reroute_backlog moves queue
-- rows. If their provider was removed, all blocks are moved. Blocks that a sender has claimed stay, and so do SMS from a
-- number of the provider. Blocks that were held for the former provider become due at once, and the workflows of their
-- campaigns are signaled.
--
-- sent by: rerouteBlocks
-- $1 text: the channel
-- $2 bigint: the account, whose campaigns are read
-- $3 bigint: the account, whose order is read
-- $4 bigint: the provider
-- locks: campaign_blocks by campaign and number, without waiting
with removed as (
  -- Whether the provider was removed. Then the target is the provider in the settings if the account has no order.
  select $4::bigint <> 0 and not exists (
    select from providers where id = $4 and removed_at is null) as yes
), target as (
  -- The first working provider in the order of the account, other than the present one.
  select coalesce((
    select t.id from accounts a
    cross join lateral unnest(
      -- <providers>
      case $1 when 'email' then a.email_provider_ids else a.sms_provider_ids end
      -- </providers>
      ) with ordinality as t (id, n)
    where a.id = $3 and t.id <> $4
      and (t.id = 0 or exists (
        select from providers p where p.id = t.id and p.channel = $1 and p.removed_at is null))
      and not exists (select from provider_outages o where o.channel = $1 and o.provider_id = t.id)
    order by t.n limit 1
  ), case when yes then 0 end) as id from removed
), blocks as materialized (
  select b.campaign_id, b.n,
    -- <was_held>
    b.hold_reason = 'provider_unavailable'
    -- </was_held>
    as was_held
  from campaigns c join campaign_blocks b on b.campaign_id = c.id
  where c.account_id = $2 and c.status = 'active' and c.phase in ('snapshot', 'sending')
    and b.owner is null and b.closed_at is null and b.channel = $1 and b.provider_id = $4
    and (b.due_at <= now() or (select yes from removed)) and (select id from target) is not null
    and ($1 <> 'sms' or (select yes from removed) or not exists (
      select from sms_senders s where s.brand_id = c.brand_id and s.removed_at is null and s.provider_id = $4))
  order by b.campaign_id, b.n for update of b skip locked
), moved as (
  update campaign_blocks b set provider_id = (select id from target),
    due_at = case when o.was_held then least(b.due_at, now()) else b.due_at end,
    hold_reason = case when o.was_held then null else b.hold_reason end
  from blocks o where b.campaign_id = o.campaign_id and b.n = o.n returning b.size
)
-- <woken_campaigns>
, woken_campaigns as (
  insert into outbox (kind, workflow_id, signal_name)
  select distinct 'signal', 'campaign/' || campaign_id, 'wake' from blocks where was_held
)
-- </woken_campaigns>
select coalesce(sum(size), 0)::int as moved, (select id from target) as "providerId" from moved
