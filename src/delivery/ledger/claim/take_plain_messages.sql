-- Claims due transactional emails of an account and writes their intent, if all are plain: at their first attempt,
-- light, and held or refused by no limit. Returns nothing if they are not; raises CL020 if that shows only after
-- something was written.
--
-- sent by: takePlainMessages
-- process: the process that claims them
-- intent: the number of the intent among those of the process
-- sent_by: the name of the provider
-- account: the account
-- provider: the provider of the backlog, 0 for the one in the settings
-- max_messages: how many messages to take at most
-- max_bytes: how many bytes of content to take at most
-- limit_settings: the settings of the limits, and max_weight
-- report_after: seconds to wait for a report if the process dies
-- locks: processes; the advisory locks of an intent and of a claim, if both are free; send_queue, skipping locked rows;
--   then the counters of the limits, in the order of their table, which claims reverse: the advisory lock of a claim
--   keeps the two apart
-- sees: each query sees what was committed before the locks were granted, so the figures of the limits and the
--   suppressions are those behind the locks. The limits count queue rows as they were picked; the last query sees them
--   as claimed, so conditions that read the queue row alone are evaluated when the rows are picked.
-- partitions: reads messages and message_contents, and locks none of their rows
create function take_plain_messages(
  process bigint, intent bigint, sent_by text, account bigint, provider bigint, max_messages int, max_bytes int,
  limit_settings jsonb, report_after int)
returns table (
  "messageId" bigint, epoch int, "hasContacts" boolean, priced boolean, "brandId" bigint, "domainId" bigint,
  "queuedAt" timestamptz, "createdAt" timestamptz, "to" text, "from" text, "replyTo" text, subject text, html text,
  "text" text, headers jsonb, tags jsonb, tracking jsonb, "idempotencyKey" text, segments smallint,
  "contentVersionId" bigint, bytes int, weight int)
language plpgsql rows 50 as $$
-- The SQL of a limit knows nothing of the variables here.
#variable_conflict use_column
declare
  a accounts;
  ids bigint[];
  size bigint;
  places bigint[];
  are_plain boolean;
  counted int;
begin
  -- A general claim waits for these locks; others behind this call would wait with it.
  perform 1 from processes p where p.id = process for key share skip locked;
  if not found or not pg_try_advisory_xact_lock_shared(1129468235, (account % 256)::int)
    or not pg_try_advisory_xact_lock(1129468234, (account % 2147483647)::int) then return; end if;
  select * into a from accounts where id = account;
  if
    -- <stands_down>
    (a.sending_paused_at is not null) is true
    or max_messages > coalesce((select f.remaining from (
        select "limit", used, case when a.kind = 'system' then 2147483647 else "limit" - used end as remaining, resets_at
        from (
          select coalesce(a.allowance_per_day, case a.tier
              when 'free' then (limit_settings ->> 'allowance_free')::int
              when 'paid' then (limit_settings ->> 'allowance_paid')::int
              else (limit_settings ->> 'allowance_trusted')::int end) as "limit",
            coalesce(sum(b.used), 0) as used,
            min(b.bucket) filter (where b.used > 0) + interval '24 hours 10 minutes' as resets_at
          from allowance_buckets b
          where b.account_id = a.id and b.bucket > now() - interval '24 hours 10 minutes') counted) f),
      0)
    -- </stands_down>
  then return; end if;
  select array_agg(q.message_id order by q.message_id), sum(q.content_bytes),
      bool_and(q.attempt_count = 0 and q.connection_losses = 0 and q.content_weight <= (limit_settings ->> 'max_weight')::int
        -- <none_applies_to_row>
        and (q.queued_at < now() - interval '72 hours') is not true
        and (q.domain_id is not null and (select d.id from domains d where d.id = q.domain_id) is null) is not true
        and ((select d.status from domains d where d.id = q.domain_id) <> 'verified') is not true
        -- </none_applies_to_row>
      ),
      array[
        -- <places>
          count(*) filter (where q.reserved_bucket is null and q.domain_id is not null) -- warm_up
        , count(*) filter (where q.reserved_bucket is null and q.domain_id is not null) -- pacing
        -- </places>
      ]::bigint[]
    into ids, size, are_plain, places
  from (
    select * from send_queue s
    where s.owner is null and s.channel = 'email' and s.class = 0 and s.account_id = account
      and s.provider_id = provider and s.due_at <= now()
    order by s.due_at, s.message_id limit max_messages for update skip locked) q;
  if ids is null or not are_plain or size > max_bytes then return; end if;
  -- <takes>
  if places[1] > 0 and (exists (select from warm_ups w where w.account_id = a.id)) then
  insert into warm_up_days as d (domain_id, day, used)
  select w.domain_id, (now() at time zone 'utc')::date, count(*)
  from (select q.* from send_queue q
    where q.message_id = any(ids) and q.reserved_bucket is null and q.domain_id is not null) taken
  join warm_ups w on w.domain_id = taken.domain_id and w.account_id = account
  group by 1 order by 1
  on conflict (domain_id, day) do update set used = d.used + excluded.used;
  end if;
  if places[2] > 0
    and ((limit_settings ->> 'pacing_per_minute')::int <> 0
      or exists (select from domain_paces p where p.account_id = a.id)) then
  insert into domain_paces as p (domain_id, account_id, minute, used)
  select taken.domain_id, account, date_trunc('minute', now()), count(*)
  from (select q.* from send_queue q
    where q.message_id = any(ids) and q.reserved_bucket is null and q.domain_id is not null) taken
  where (limit_settings ->> 'pacing_per_minute')::int <> 0 or exists (
    select from domain_paces o where o.domain_id = taken.domain_id and o.account_id = account)
  group by 1 order by 1
  on conflict (domain_id) do update set minute = excluded.minute,
    used = case when p.minute >= excluded.minute then p.used else 0 end + excluded.used;
  end if;
  -- </takes>
  with
    -- <takes_at_once>
      allowance_taken as (
      insert into allowance_buckets (account_id, bucket, used)
      select account, date_bin('10 minutes', now(), timestamptz '2000-01-01 00:00Z'), count(*)
      from (select q.* from send_queue q
        where q.message_id = any(ids) and q.reserved_bucket is null) taken having count(*) > 0
      on conflict (account_id, bucket) do update set used = allowance_buckets.used + excluded.used
    ),
    -- </takes_at_once>
  claimed as (
    update send_queue q set owner = process, claim_epoch = q.claim_epoch + 1, held = false
      -- <reserved>
      , reserved_bucket = case
        when q.reserved_bucket is null then date_bin('10 minutes', now(), timestamptz '2000-01-01 00:00Z')
        else q.reserved_bucket end
      -- </reserved>
    where q.message_id = any(ids)
  )
  insert into handovers (owner, seq, provider, message_ids, attempts, report_seconds)
  values (process, intent, sent_by, ids, array_fill(1::smallint, array[cardinality(ids)]), report_after);
  return query
    select m.id, q.claim_epoch, a.has_contacts, q.price_month is not null, m.brand_id, q.domain_id, q.queued_at,
      m.created_at, m.to_address, m.from_address, m.reply_to, m.subject, c.html, c.text, c.headers, m.tags, m.tracking,
      m.idempotency_key, m.segments, m.content_version_id, q.content_bytes, q.content_weight
    from send_queue q
    cross join (select coalesce((limit_settings ->> 'suppress_plus_addresses')::int, 0) = 1 as plus_addresses) settings
    -- The bounds of all ids let PostgreSQL leave out partitions before it opens them.
    cross join lateral (
      select * from messages m where m.id = q.message_id and m.id between ids[1] and ids[cardinality(ids)] offset 0) m
    left join lateral (
      select * from message_contents c
      where c.message_id = q.message_id and c.message_id between ids[1] and ids[cardinality(ids)] offset 0) c on true
    where q.message_id = any(ids)
      -- <none_applies_to_message>
      and (m.status not in ('queued', 'held', 'unknown')) is not true
      and ((q.queued_at < now() - interval '72 hours' and m.hold ->> 'reason' = 'spend_cap')) is not true
      and ((q.queued_at < now() - interval '72 hours' and m.hold ->> 'reason' = 'wallet')) is not true
      and (((exists (
            select true from suppressions s
            where s.account_id = m.account_id and s.address_key = m.to_key and s.released_at is null
              and (s.expires_at is null or s.expires_at > now())) or settings.plus_addresses and exists (
            select true from suppressions s
            where s.account_id = m.account_id and s.untagged_key = address_without_tag(m.to_key) and s.released_at is null
              and (s.expires_at is null or s.expires_at > now())))
          or (coalesce(a.recipients_changed_at > now() - interval '10 seconds', false)
            and is_suppressed(m.account_id, m.to_key, settings.plus_addresses)))) is not true
      and (c.message_id is null and (m.class = 0 or m.content_version_id is null)) is not true
      -- </none_applies_to_message>
    order by m.id;
  get diagnostics counted = row_count;
  if counted <> cardinality(ids) then
    raise exception 'a message of account % may not leave', account using errcode = 'CL020';
  end if;
end $$;
