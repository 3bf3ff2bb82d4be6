-- Ends the releases of held messages of an account that are in progress. The messages released so far are held again when
-- a sender claims them. Call it where the account is paused.
--
-- sent by: updateAccount
-- account: the account
-- locks: held_backlogs by channel, class and provider
-- sees: what was committed while it waited for a backlog; what it changes is locked before, and not selected again
create function end_release(account bigint) returns void
language plpgsql as $$
declare
  channels text[];
  classes smallint[];
  providers bigint[];
begin
  select array_agg(h.channel), array_agg(h.class), array_agg(h.provider_id) into channels, classes, providers from (
    -- <held_backlogs>
    select channel, class, provider_id from held_backlogs where account_id = account
    order by channel, class, provider_id for update
    -- </held_backlogs>
    ) h;

  update held_backlogs b set release_count = null, released_until = null
  from unnest(channels, classes, providers) as h (channel, class, provider_id)
  where b.account_id = account and b.channel = h.channel and b.class = h.class and b.provider_id = h.provider_id;
end $$;
