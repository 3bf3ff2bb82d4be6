/**
 * Short ways to send plain messages: transactional emails that no limit may hold, at their first attempt. The general
 * statements have parts for everything that may happen to a message, and each part costs time although it has nothing to
 * do. A function runs only what it needs. The names have versions: other text needs another name, because processes of
 * both versions run during an update.
 */
export const name = '0104_plain_messages';

export const up = `
create function take_plain_messages_v1(
  process bigint, intent bigint, sent_by text, account bigint, provider bigint, max_messages int, max_bytes int,
  settings jsonb, report_after int)
returns table (
  "messageId" bigint, epoch int, "hasContacts" boolean, priced boolean, "brandId" bigint, "domainId" bigint,
  "queuedAt" timestamptz, "createdAt" timestamptz, "to" text, "from" text, "replyTo" text, subject text, html text,
  "text" text, headers jsonb, tags jsonb, tracking jsonb, "idempotencyKey" text, segments smallint,
  "contentVersionId" bigint, bytes int, weight int)
language plpgsql rows 50 as $$
declare
  a accounts;
  ids bigint[];
  size bigint;
  uncounted int;
  are_plain boolean;
  found_rows int;
  this_bucket timestamptz := date_bin('10 minutes', now(), timestamptz '2000-01-01 00:00Z');
begin
  -- Each query sees what was committed before the locks were granted. A general claim waits for them; others behind this
  -- call would wait with it.
  perform 1 from processes p where p.id = process for key share skip locked;
  if not found or not pg_try_advisory_xact_lock_shared(1129468235, (account % 256)::int)
    or not pg_try_advisory_xact_lock(1129468234, (account % 2147483647)::int) then return; end if;
  select * into a from accounts where id = account;
  if a.sending_paused_at is not null or (settings ->> 'pacing_per_minute')::int <> 0
    or exists (select 1 from domain_paces p where p.account_id = account)
    or exists (select 1 from warm_ups w where w.account_id = account) then return; end if;
  if a.kind <> 'system' and max_messages > coalesce(a.allowance_per_day, case a.tier
      when 'free' then (settings ->> 'allowance_free')::int
      when 'paid' then (settings ->> 'allowance_paid')::int
      else (settings ->> 'allowance_trusted')::int end) - coalesce((
        select sum(b.used) from allowance_buckets b
        where b.account_id = account and b.bucket > now() - interval '24 hours 10 minutes'), 0) then return; end if;
  select array_agg(q.message_id order by q.message_id), sum(q.content_bytes),
      count(*) filter (where q.reserved_bucket is null),
      bool_and(q.attempt_count = 0 and q.connection_losses = 0 and q.content_weight <= (settings ->> 'max_weight')::int
        and q.queued_at >= now() - interval '72 hours'
        and (q.domain_id is null or (select d.status from domains d where d.id = q.domain_id) = 'verified') is true)
    into ids, size, uncounted, are_plain
  from (
    select * from send_queue s
    where s.owner is null and s.channel = 'email' and s.class = 0 and s.account_id = account
      and s.provider_id = provider and s.due_at <= now()
    order by s.due_at, s.message_id limit max_messages for update skip locked) q;
  if ids is null or not are_plain or size > max_bytes then return; end if;
  if uncounted > 0 then
    insert into allowance_buckets as b (account_id, bucket, used) values (account, this_bucket, uncounted)
    on conflict on constraint allowance_buckets_pkey do update set used = b.used + excluded.used;
  end if;
  update send_queue q set owner = process, claim_epoch = q.claim_epoch + 1, held = false,
    reserved_bucket = coalesce(q.reserved_bucket, this_bucket)
  where q.message_id = any(ids);
  insert into handovers (owner, seq, provider, message_ids, attempts, report_seconds)
  values (process, intent, sent_by, ids, array_fill(1::smallint, array[cardinality(ids)]), report_after);
  return query
    select m.id, q.claim_epoch, a.has_contacts, q.price_month is not null, m.brand_id, q.domain_id, q.queued_at,
      m.created_at, m.to_address, m.from_address, m.reply_to, m.subject, c.html, c.text, c.headers, m.tags, m.tracking,
      m.idempotency_key, m.segments, m.content_version_id, q.content_bytes, q.content_weight
    from send_queue q
    -- The bounds of all ids let PostgreSQL leave out partitions before it opens them.
    cross join lateral (
      select * from messages m where m.id = q.message_id and m.id between ids[1] and ids[cardinality(ids)] offset 0) m
    cross join lateral (
      select * from message_contents c
      where c.message_id = q.message_id and c.message_id between ids[1] and ids[cardinality(ids)] offset 0) c
    where q.message_id = any(ids) and m.status in ('queued', 'held')
      and not exists (
        select 1 from suppressions s
        where s.account_id = account and s.address_key = m.to_key and s.released_at is null
          and (s.expires_at is null or s.expires_at > now()))
      and not (coalesce((settings ->> 'suppress_plus_addresses')::int, 0) = 1 and exists (
        select 1 from suppressions s
        where s.account_id = account and s.untagged_key = address_without_tag(m.to_key) and s.released_at is null
          and (s.expires_at is null or s.expires_at > now())))
    order by m.id;
  get diagnostics found_rows = row_count;
  if found_rows <> cardinality(ids) then
    raise exception 'a message of account % may not leave', account using errcode = 'CL020';
  end if;
end $$;
comment on function take_plain_messages_v1 is
  'claims due messages of an account and writes their intent, if all are plain; returns nothing if they are not, and raises CL020 if one of them may not leave';

create function record_plain_messages_v1(
  owners bigint[], seqs bigint[], ids bigint[], replies text[], provider_ids text[], sent_by text)
returns boolean language plpgsql as $$
declare
  of_accounts bigint[];
  of_brands bigint[];
  counts int[];
begin
  -- PostgreSQL 18 may lose rows of kept plans over partitions: see src/platform/db/plans.ts.
  if current_setting('server_version_num')::int >= 180000
    and current_setting('plan_cache_mode') <> 'force_custom_plan'
    or exists (select 1 from older_stats where reached_id < ids[cardinality(ids)] and last_id >= ids[1]) then
    return false;
  end if;
  with updated as (
    update messages m set status = 'sent', attempt_count = 1, sent_at = now(), provider = coalesce(sent_by, m.provider),
      provider_message_id = coalesce(i.provider_id, m.provider_message_id), sent_attempt = 1, response = i.reply,
      failure = null, hold = null, updated_at = now()
    from unnest(ids, replies, provider_ids) as i (id, reply, provider_id)
    where m.id = i.id and m.id between ids[1] and ids[cardinality(ids)] and m.status in ('queued', 'held')
      and m.attempt_count <= 1 and m.sent_at is null and m.sent_attempt is null and m.unknown_at is null
      and m.unsent_at is null
    returning m.account_id, m.brand_id, m.test
  ), grouped as (
    select case when not test then account_id end as account_id, brand_id, count(*)::int as count
    from updated group by 1, 2
  )
  select array_agg(account_id), array_agg(brand_id), array_agg(count) into of_accounts, of_brands, counts from grouped;
  if (select coalesce(sum(n), 0) from unnest(counts) as c (n)) <> cardinality(ids) then
    raise exception 'a message has another outcome' using errcode = 'CL020';
  end if;
  delete from handovers h using unnest(owners, seqs) as e (owner, seq) where h.owner = e.owner and h.seq = e.seq;
  delete from send_queue where message_id = any(ids);
  -- The account of messages that do not count is null.
  insert into usage_changes (account_id, month, email_used, sms_used, email_sent, sms_sent)
  select u.account_id, date_trunc('month', now() at time zone 'utc')::date, u.count, 0, u.count, 0
  from unnest(of_accounts, counts) as u (account_id, count) where u.account_id is not null;
  insert into stat_changes (brand_id, slot, source, channel, name, message_id, count)
  select u.brand_id, date_bin('15 minutes', now(), '2000-01-01 00:00+00'::timestamptz), 'api', 'email', 'sent', null, u.count
  from unnest(of_accounts, of_brands, counts) as u (account_id, brand_id, count) where u.account_id is not null;
  insert into account_outcomes as o (account_id, hour, attempted, hard_bounces, complaints)
  select u.account_id, date_trunc('hour', now(), 'UTC'), sum(u.count), 0, 0
  from unnest(of_accounts, counts) as u (account_id, count) where u.account_id is not null group by 1 order by 1
  on conflict (account_id, hour) do update set attempted = o.attempted + excluded.attempted;
  return true;
end $$;
comment on function record_plain_messages_v1 is
  'records that providers accepted plain messages of accounts without contacts, at their first attempt; changes nothing and returns false if it cannot, and raises CL020 if one of them has another outcome';
`;

export const down = `
drop function record_plain_messages_v1, take_plain_messages_v1;
`;
