/**
 * The short ways to send plain messages, for more accounts: those with contacts, those whose events a consumer wants,
 * which the statement that calls the function publishes, and those with a warm-up or a pace, which count transactional
 * messages and never hold them. The functions of version 1 stay, because processes of the version before call them.
 */
export const name = '0105_more_plain_messages';

export const up = `
create function take_plain_messages_v2(
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
  of_domains bigint[];
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
  if a.sending_paused_at is not null then return; end if;
  if a.kind <> 'system' and max_messages > coalesce(a.allowance_per_day, case a.tier
      when 'free' then (settings ->> 'allowance_free')::int
      when 'paid' then (settings ->> 'allowance_paid')::int
      else (settings ->> 'allowance_trusted')::int end) - coalesce((
        select sum(b.used) from allowance_buckets b
        where b.account_id = account and b.bucket > now() - interval '24 hours 10 minutes'), 0) then return; end if;
  select array_agg(q.message_id order by q.message_id), sum(q.content_bytes),
      count(*) filter (where q.reserved_bucket is null),
      array_agg(q.domain_id) filter (where q.reserved_bucket is null and q.domain_id is not null),
      bool_and(q.attempt_count = 0 and q.connection_losses = 0 and q.content_weight <= (settings ->> 'max_weight')::int
        and q.queued_at >= now() - interval '72 hours'
        and (q.domain_id is null or (select d.status from domains d where d.id = q.domain_id) = 'verified') is true)
    into ids, size, uncounted, of_domains, are_plain
  from (
    select * from send_queue s
    where s.owner is null and s.channel = 'email' and s.class = 0 and s.account_id = account
      and s.provider_id = provider and s.due_at <= now()
    order by s.due_at, s.message_id limit max_messages for update skip locked) q;
  if ids is null or not are_plain or size > max_bytes then return; end if;
  if of_domains is not null then
    -- Transactional messages count in warm-ups and paces, but are never held by them.
    if exists (select 1 from warm_ups w where w.account_id = account) then
      insert into warm_up_days as d (domain_id, day, used)
      select w.domain_id, (now() at time zone 'utc')::date, count(*)
      from unnest(of_domains) as u (id) join warm_ups w on w.domain_id = u.id and w.account_id = account
      group by 1 order by 1
      on conflict (domain_id, day) do update set used = d.used + excluded.used;
    end if;
    if (settings ->> 'pacing_per_minute')::int <> 0
      or exists (select 1 from domain_paces p where p.account_id = account) then
      insert into domain_paces as p (domain_id, account_id, minute, used)
      select u.id, account, date_trunc('minute', now()), count(*) from unnest(of_domains) as u (id)
      where (settings ->> 'pacing_per_minute')::int <> 0
        or exists (select 1 from domain_paces o where o.domain_id = u.id and o.account_id = account)
      group by 1 order by 1
      on conflict (domain_id) do update set minute = excluded.minute,
        used = case when p.minute >= excluded.minute then p.used else 0 end + excluded.used;
    end if;
  end if;
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
comment on function take_plain_messages_v2 is
  'claims due messages of an account and writes their intent, if all are plain; returns nothing if they are not, and raises CL020 if one of them may not leave';

create function record_plain_messages_v2(
  owners bigint[], seqs bigint[], ids bigint[], replies text[], provider_ids text[], sent_by text, for_contacts boolean)
returns bigint[] language plpgsql as $$
declare
  found_ids bigint[];
  of_accounts bigint[];
  of_brands bigint[];
  of_contacts bigint[];
  tests bigint[];
begin
  -- PostgreSQL 18 may lose rows of kept plans over partitions: see src/platform/db/plans.ts.
  if current_setting('server_version_num')::int >= 180000
    and current_setting('plan_cache_mode') <> 'force_custom_plan'
    or exists (select 1 from older_stats where reached_id < ids[cardinality(ids)] and last_id >= ids[1]) then
    return null;
  end if;
  with updated as (
    update messages m set status = 'sent', attempt_count = 1, sent_at = now(), provider = coalesce(sent_by, m.provider),
      provider_message_id = coalesce(i.provider_id, m.provider_message_id), sent_attempt = 1, response = i.reply,
      failure = null, hold = null, updated_at = now(), contact_id = case
        when for_contacts then coalesce(m.contact_id, (
          select c.id from contacts c where c.brand_id = m.brand_id and c.email_key = m.to_key))
        else m.contact_id end
    from unnest(ids, replies, provider_ids) as i (id, reply, provider_id)
    where m.id = i.id and m.id between ids[1] and ids[cardinality(ids)] and m.status in ('queued', 'held')
      and m.attempt_count <= 1 and m.sent_at is null and m.sent_attempt is null and m.unknown_at is null
      and m.unsent_at is null
    returning m.id, m.account_id, m.brand_id, m.contact_id, m.test
  )
  -- The account and the contact of messages that do not count are null.
  select array_agg(id), array_agg(case when not test then account_id end), array_agg(brand_id),
    array_agg(case when not test then contact_id end), array_agg(id) filter (where test)
  into found_ids, of_accounts, of_brands, of_contacts, tests from updated;
  if cardinality(found_ids) is distinct from cardinality(ids) then
    raise exception 'a message has another outcome' using errcode = 'CL020';
  end if;
  delete from handovers h using unnest(owners, seqs) as e (owner, seq) where h.owner = e.owner and h.seq = e.seq;
  delete from send_queue where message_id = any(ids);
  insert into usage_changes (account_id, month, email_used, sms_used, email_sent, sms_sent)
  select account_id, date_trunc('month', now() at time zone 'utc')::date, count(*), 0, count(*), 0
  from unnest(of_accounts) as u (account_id) where account_id is not null group by 1;
  insert into stat_changes (brand_id, slot, source, channel, name, message_id, count)
  select brand_id, date_bin('15 minutes', now(), '2000-01-01 00:00+00'::timestamptz), 'api', 'email', 'sent', null, count(*)
  from unnest(of_accounts, of_brands) as u (account_id, brand_id) where account_id is not null group by 1;
  if cardinality(array_remove(of_contacts, null)) > 0 then
    -- A contact that another transaction has locked is being deleted, so its rows are left out.
    of_contacts := array(
      select case when contact_id in (
        select id from contacts where id = any(of_contacts) order by id for key share skip locked) then contact_id end
      from unnest(of_contacts) with ordinality as u (contact_id, n) order by n);
    insert into contact_engagement (brand_id, contact_id, message_id, kind, created_at)
    select brand_id, contact_id, id, 0, now()
    from unnest(found_ids, of_brands, of_contacts) as u (id, brand_id, contact_id) where contact_id is not null;
    insert into contact_channel_counts as c (contact_id, channel, sent_count, fail_count)
    select contact_id, 'email', count(*), 0
    from unnest(of_contacts) as u (contact_id) where contact_id is not null group by 1 order by 1
    on conflict (contact_id, channel) do update set sent_count = c.sent_count + excluded.sent_count;
  end if;
  insert into account_outcomes as o (account_id, hour, attempted, hard_bounces, complaints)
  select account_id, date_trunc('hour', now(), 'UTC'), count(*), 0, 0
  from unnest(of_accounts) as u (account_id) where account_id is not null group by 1 order by 1
  on conflict (account_id, hour) do update set attempted = o.attempted + excluded.attempted;
  return coalesce(tests, '{}');
end $$;
comment on function record_plain_messages_v2 is
  'records that providers accepted plain messages at their first attempt, and returns those of them that are tests; changes nothing and returns null if it cannot, and raises CL020 if one of them has another outcome';
`;

export const down = `
drop function record_plain_messages_v2, take_plain_messages_v2;
`;
