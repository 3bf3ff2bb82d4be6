-- Closes blocks of a canceled campaign that have no open recipients, at most 1,000. They give back what they have
-- reserved.
--
-- sent by: shutBlocks
-- $1 bigint: the campaign
-- $2 int[]: the numbers of the blocks; null: all of the campaign
-- locks: campaign_blocks by number, then what returns: account_months by account and month, allowance_buckets by account
--   and bucket, sandbox_usage by account and month
with shut as materialized (
  select b.n from campaign_blocks b
  where b.campaign_id = $1 and b.closed_at is null and ($2::int[] is null or b.n = any($2)) and not
    -- <has_open>
    exists (
    select 1 from messages m
    where m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id and m.status in ('queued', 'held')
      and not exists (select 1 from send_queue q where q.message_id = m.id))
    -- </has_open>
  order by b.n limit 1000
), closed as materialized (
  select b.* from campaign_blocks b
  where b.campaign_id = $1 and b.n = any(array(select n from shut)) and b.closed_at is null
  order by b.campaign_id, b.n for update
)
-- <returned>
, months_returned as materialized (
  select account_id, price_month as month,
    coalesce(sum(price_units) filter (where channel = 'email'), 0) as emails,
    coalesce(sum(price_units) filter (where channel = 'email' and price_millicents = 0), 0) as free,
    coalesce(sum(price_units) filter (where channel = 'sms'), 0) as texts,
    coalesce(sum(price_millicents), 0) as millicents
  from (
    select account_id, channel, reserved_bucket, null::date as price_month, 0::bigint as price_millicents,
      0 as price_units
    from closed cross join lateral generate_series(1, reserved)
    union all
    select account_id, channel, null, price_month, 0, free_units from closed where price_month is not null
    union all
    select account_id, channel, null, price_month, price_millicents, price_units - free_units
    from closed where price_month is not null) places
  where price_month is not null and (price_units > 0 or price_millicents > 0)
  group by account_id, price_month
), months_locked as materialized (
  select s.account_id, s.month, s.posted_at from account_months s join (
    select account_id, month from months_returned union select account_id, current_month() from months_returned
  ) r using (account_id, month) order by s.account_id, s.month for update of s
), months_given_back as (
  insert into account_months as s (account_id, month, email_units, free_units, sms_units, spent_millicents)
  select account_id, case when l.posted_at is null then month else current_month() end,
    -sum(r.emails), -sum(r.free), -sum(r.texts), -sum(r.millicents)
  from months_returned r left join months_locked l using (account_id, month) group by 1, 2 order by 1, 2
  on conflict (account_id, month) do update set email_units = s.email_units + excluded.email_units,
    free_units = s.free_units + excluded.free_units, sms_units = s.sms_units + excluded.sms_units,
    spent_millicents = s.spent_millicents + excluded.spent_millicents returning 1
), allowance_unused as materialized (
  select account_id, reserved_bucket as bucket, count(*)::int as count from (
    select account_id, channel, reserved_bucket, null::date as price_month, 0::bigint as price_millicents,
      0 as price_units
    from closed cross join lateral generate_series(1, reserved)
    union all
    select account_id, channel, null, price_month, 0, free_units from closed where price_month is not null
    union all
    select account_id, channel, null, price_month, price_millicents, price_units - free_units
    from closed where price_month is not null) places
  where reserved_bucket is not null group by account_id, reserved_bucket
), allowance_given_back as (
  insert into allowance_buckets as b (account_id, bucket, used)
  select account_id, bucket, 0 from allowance_unused where (select count(*) from months_given_back) >= 0
  order by account_id, bucket
  on conflict (account_id, bucket) do update set used = greatest(0, b.used - (
      select u.count from allowance_unused u where u.account_id = b.account_id and u.bucket = b.bucket))
  returning 1
), sandbox_unused as materialized (
  select account_id, sandbox_month as month, sum(sandbox_reserved)::int as count from closed
  where sandbox_reserved > 0 group by 1, 2
), sandbox_given_back as (
  insert into sandbox_usage as u (account_id, month, used)
  select account_id, month, 0 from sandbox_unused
  where (select count(*) from months_given_back) + (select count(*) from allowance_given_back) >= 0
  order by account_id, month
  on conflict (account_id, month) do update set used = greatest(0, u.used - (
      select n.count from sandbox_unused n where n.account_id = u.account_id and n.month = u.month))
)
-- </returned>
update campaign_blocks b
set closed_at = now(), owner = null, claim_epoch = b.claim_epoch + 1, reserved = 0, sandbox_reserved = 0,
  hold_reason = null, recount = true, price_month = null, unit_millicents = null, price_list = null,
  price_millicents = 0, price_units = 0, free_units = 0
from closed c where b.campaign_id = c.campaign_id and b.n = c.n
