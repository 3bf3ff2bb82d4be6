-- Makes senders check the held backlogs of an account now, as far as the limits allow then: its blocks are due at once,
-- and the workflows of their campaigns are signaled. Call it where the account is resumed or one of its limits is raised.
-- Blocks are locked before backlogs. Otherwise there is a deadlock with a recorder that has locked a block and waits for
-- the month of the account, and a claim that has locked the month and waits for the backlog.
--
-- sent by: releaseHeld, updateAccount
-- account: the account
-- skip_locked: whether to leave out locked blocks instead of waiting for them: a transaction that has locked the wallet
--   must not wait for them
-- locks: campaign_blocks by campaign and number; held_backlogs by channel, class and provider
-- sees: the backlogs that were committed while it waited for blocks; what it changes is locked before, and not selected
--   again
create function release_held(account bigint, skip_locked boolean) returns void
language plpgsql as $$
declare
  campaigns bigint[];
  numbers integer[];
  channels text[];
  classes smallint[];
  providers bigint[];
begin
  if skip_locked then
    select array_agg(b.campaign_id), array_agg(b.n) into campaigns, numbers from (
      -- <held_blocks>
      select campaign_id, n from campaign_blocks
      where account_id = account and hold_reason is not null and owner is null and closed_at is null
      order by campaign_id, n for update
      -- </held_blocks>
      skip locked) b;
  else
    select array_agg(b.campaign_id), array_agg(b.n) into campaigns, numbers from (
      -- <held_blocks>
      select campaign_id, n from campaign_blocks
      where account_id = account and hold_reason is not null and owner is null and closed_at is null
      order by campaign_id, n for update
      -- </held_blocks>
      ) b;
  end if;

  select array_agg(h.channel), array_agg(h.class), array_agg(h.provider_id) into channels, classes, providers from (
    -- <held_backlogs>
    select channel, class, provider_id from held_backlogs where account_id = account
    order by channel, class, provider_id for update
    -- </held_backlogs>
    ) h;

  if campaigns is not null then
    update campaign_blocks b set due_at = now(), hold_reason = null
    from unnest(campaigns, numbers) as h (campaign_id, n) where b.campaign_id = h.campaign_id and b.n = h.n;

    -- <woken_campaigns>
    insert into outbox (kind, workflow_id, signal_name)
    select distinct 'signal', 'campaign/' || campaign_id, 'wake' from unnest(campaigns) as b (campaign_id)
    -- </woken_campaigns>
    ;
  end if;

  update held_backlogs b set recheck_at = now(), release_count = null, released_until = null
  from unnest(channels, classes, providers) as h (channel, class, provider_id)
  where b.account_id = account and b.channel = h.channel and b.class = h.class and b.provider_id = h.provider_id;
end $$;
