-- Cancels transactional messages that wait, all of them or none, and gives back what they have reserved. None of them can
-- leave any more once the transaction is committed. Returns what became of each message: canceled; ended, if it ended
-- unsent before, which is no obstacle; or why nothing was changed: sending, unknown (an attempt has no known outcome),
-- left, other_class (a campaign or flow wrote it), claimed (call it again with recall, after marking the account), or
-- unchecked (the claim is that of a process whose intents do not look at it again). A message that is not returned does
-- not exist.
--
-- sent by: cancelTransactional
-- account: the account of the messages
-- ids: the messages, all of one range of ids
-- reason: shown to clients
-- recall: whether to take messages from senders that have claimed them. Intents that began before wait for the advisory
--   lock until the commit, and then look at their claims again, because the account is marked: intend_messages and
--   intend_letters. The mark, accounts.recipients_changed_at, lies a minute ahead, and must be good for half of it
-- locks: with recall, the advisory lock of the account that intents share; messages by id, send_queue by id,
--   account_months by account and month, allowance_buckets, sandbox_usage by month
-- sees: the messages and their queue rows are locked before they are read, so the third query sees what claims, intents
--   and recorders have committed, and nothing changes until the commit but claims of these messages becoming intents.
--   The advisory lock prevents that
-- partitions: messages
create function cancel_transactional(account bigint, ids bigint[], reason text, recall boolean)
returns table (id bigint, outcome text)
language plpgsql rows 10 as $$
#variable_conflict use_column
declare
  first_id bigint := (select min(i.id) from unnest(ids) as i (id));
  last_id bigint := (select max(i.id) from unnest(ids) as i (id));
  found_ids bigint[];
  outcomes text[];
  canceled_ids bigint[];
  sandbox_months date[];
  is_marked boolean;
begin
  if recall then
    perform stop_intents(account);
    is_marked := exists (
      select from accounts a
      where a.id = account and a.recipients_changed_at > clock_timestamp() + interval '30 seconds');
  end if;
  perform from messages m
  where m.id = any(ids) and m.id between first_id and last_id and m.account_id = account
  order by m.id for no key update;
  perform from send_queue q where q.message_id = any(ids) and q.account_id = account order by q.message_id for update;

  select array_agg(s.id order by s.id), array_agg(s.outcome order by s.id)
  into found_ids, outcomes
  from (
    select m.id, case
      when m.class <> 0 then 'other_class'
      when m.status in ('canceled', 'failed', 'skipped') then 'ended'
      when m.status not in ('queued', 'held', 'unknown') then 'left'
      when q.message_id is null then case
        when m.status = 'unknown' then 'unknown'
        -- A scheduled message of a test key has no queue row.
        when exists (select from test_messages t where t.message_id = m.id and t.ends_at is not null) then 'canceled'
        else 'left' end
      when exists (select from handovers h where h.owner = q.owner and m.id = any(h.message_ids)) then 'sending'
      when m.status = 'unknown' or q.attempt_count > 0 and exists (
        select from message_events e where e.message_id = m.id and e.message_id between first_id and last_id
          and e.type = 'unknown') then 'unknown'
      when q.owner is null then 'canceled'
      when is_marked is not true then 'claimed'
      when not (select p.checks_claims from processes p where p.id = q.owner) then 'unchecked'
      else 'canceled' end as outcome
    from messages m left join lateral (select * from send_queue s where s.message_id = m.id offset 0) q on true
    where m.id = any(ids) and m.id between first_id and last_id and m.account_id = account) s;
  canceled_ids := array(
    select s.id from unnest(found_ids, outcomes) as s (id, outcome) where s.outcome = 'canceled');

  if cardinality(canceled_ids) > 0 and outcomes <@ array['canceled', 'ended'] then
    sandbox_months := array(
      select date_trunc('month', m.created_at at time zone 'utc')::date
      from send_queue q join messages m on m.id = q.message_id
      join accounts a on a.id = m.account_id and a.kind = 'customer'
      where q.message_id = any(canceled_ids) and m.id between first_id and last_id
        and m.channel = 'email' and q.domain_id is null);
    with canceled as (
      update messages m set status = 'canceled', hold = null, updated_at = now(),
        failure = jsonb_build_object('code', 'canceled', 'message', reason)
      where m.id = any(canceled_ids) and m.id between first_id and last_id
      returning m.id
    )
    -- <leave_queue>
    , removed as (
      delete from send_queue where message_id = any(canceled_ids)
      returning message_id, account_id, reserved_bucket, price_month, price_millicents, price_units,
        split_part(channel, '_', 1) as channel
    ), months_returned as materialized (
      select account_id, price_month as month,
        coalesce(sum(price_units) filter (where channel = 'email'), 0) as emails,
        coalesce(sum(price_units) filter (where channel = 'email' and price_millicents = 0), 0) as free,
        coalesce(sum(price_units) filter (where channel = 'sms'), 0) as texts,
        coalesce(sum(price_millicents), 0) as millicents
      from (
        select r.account_id, r.channel, case
          when r.message_id = any(canceled_ids) then r.reserved_bucket end as reserved_bucket,
          r.price_month,
          r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
          r.price_units - k.keep as price_units
        from removed r cross join lateral (
          select case when r.message_id = any(canceled_ids) then 0
            else null end as keep) k
        where k.keep < r.price_units or k.keep = 0) unsent
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
        select r.account_id, r.channel, case
          when r.message_id = any(canceled_ids) then r.reserved_bucket end as reserved_bucket,
          r.price_month,
          r.price_millicents * (r.price_units - k.keep) / greatest(1, r.price_units) as price_millicents,
          r.price_units - k.keep as price_units
        from removed r cross join lateral (
          select case when r.message_id = any(canceled_ids) then 0
            else null end as keep) k
        where k.keep < r.price_units or k.keep = 0) unsent
      where reserved_bucket is not null group by account_id, reserved_bucket
    ), allowance_given_back as (
      insert into allowance_buckets as b (account_id, bucket, used)
      select account_id, bucket, 0 from allowance_unused where (select count(*) from months_given_back) >= 0
      order by account_id, bucket
      on conflict (account_id, bucket) do update set used = greatest(0, b.used - (
          select u.count from allowance_unused u where u.account_id = b.account_id and u.bucket = b.bucket))
      returning 1
    )
    -- </leave_queue>
    , tests_ended as (
      update test_messages t set ends_at = null where t.message_id = any(canceled_ids) and t.ends_at is not null
    )
    select array_agg(c.id) into canceled_ids from canceled c;
    update sandbox_usage u set used = greatest(0, u.used - s.count)
    from (select month, count(*) from unnest(sandbox_months) as m (month) group by 1) s
    where u.account_id = account and u.month = s.month;
    -- The account can pay for other messages now: see raised_funds.
    perform pg_notify('carillon_funds', account::text);
  end if;
  return query select * from unnest(found_ids, outcomes);
end $$;
