-- Written by npm run sql: see docs/statements.md.
--
-- An example. Writes a later page, with variants, local times and a frequency cap.
-- Composed in src/features/campaigns/run/page-sql.ts.
--
-- $1 bigint: the brand
-- $2 bigint: the last contact of the page before
-- $3 bigint: the last contact of this page
-- $4 bigint: the campaign
-- $5 bigint: the account
-- $6 timestamp with time zone: when the recipients are due
-- $7 integer: how many messages a block has
-- $8 integer: the number of the next block
-- $9 bigint: the number of recipients of the audience
-- $10 bigint: the first message of the campaign
-- $11 double precision[]: the shares of the variants, added up
-- $12 jsonb: when recipients in each time zone are due

with zones as materialized (
  select name, due::timestamptz as due
  from rows
  from (jsonb_array_elements_text($12::jsonb #> '{zones,names}'),
      jsonb_array_elements_text($12::jsonb #> '{zones,dues}')) as z (name, due)
), countries as materialized (
  select code, due::timestamptz as due
  from rows
  from (jsonb_array_elements_text($12::jsonb #> '{countries,codes}'),
      jsonb_array_elements_text($12::jsonb #> '{countries,dues}')) as k (code, due)
), found as materialized (
  select c.id, c.email as address, c.email_key as key, c.email_subscribed as subscribed,
    c.data ->> 'timezone' as timezone, c.country_code as country, c.email_key, c.phone
  from contacts c where c.brand_id = $1 and c.id > $2 and c.id <= $3
), judged as (
  select f.id, f.address, f.key, case when f.key is null then 'no_address'
    when (
    select true from messages m
    where m.brand_id = $1 and m.to_key = f.key and m.id >= $10::bigint
      and m.campaign_id = $4::bigint limit 1)
    then 'duplicate_address'
    when exists (select 1 from campaign_removed_recipients r where r.campaign_id = $4::bigint) and (
    select true from campaign_removed_recipients r
    where r.campaign_id = $4::bigint
      and r.address_hash = removed_recipient_hash($4::bigint, f.key) limit 1)
    then 'duplicate_address'
    when not f.subscribed then 'unsubscribed'
    when ((
      select true from suppressions s
      where s.account_id = $5::bigint and s.address_key = f.key and s.released_at is null
        and (s.expires_at is null or s.expires_at > now()) limit 1) or true and (
      select true from suppressions s
      where s.account_id = $5::bigint and s.untagged_key = address_without_tag(f.key) and s.released_at is null
        and (s.expires_at is null or s.expires_at > now()) limit 1)) then 'suppressed'
    when (select count(*) from (
      select from unnest(array[f.email_key, f.phone]) as k (key) cross join lateral (
        select from messages o
        where o.brand_id = $1 and o.to_key = k.key and o.id >= (
          select coalesce(min(r.n), 0) * 4294967296::bigint from message_ranges r
          where r.closed_at is null or r.closed_at >= now() - make_interval(secs => 604800) - interval '7 days')
          and o.class in (1, 2) and not o.test
          and coalesce(o.sent_at, case
            when o.status in ('queued', 'held', 'unknown') then o.created_at end) > now() - make_interval(secs => 604800)
        limit 3) m
      limit 3) recent) >= 3 then 'frequency_cap' end as skip,
    coalesce((select z.due from zones z where z.name = lower(f.timezone)),
      (select k.due from countries k where k.code = f.country), ($12::jsonb ->> 'otherwise')::timestamptz) as local
  from found f
), divided as (
  select j.*,
    nullif(width_bucket((($9::bigint + row_number() over (order by j.id) - 1) * 0.6180339887498949::float8) - floor(($9::bigint + row_number() over (order by j.id) - 1) * 0.6180339887498949::float8),
        $11::float8[]),
      cardinality($11::float8[]))::smallint as variant
  from judged j
), timed as (
  select d.id, d.address, d.key, d.skip, case when d.skip is null then d.local end as local,
    case when d.skip is null then d.variant end as variant,
    case when d.skip is not null then $6::timestamptz when d.variant is null then 'infinity'::timestamptz
    else greatest(d.local, $6::timestamptz) end as due
  from divided d
), grouped as (
  select t.*, (row_number() over (partition by skip is not null, due, local, variant order by id) - 1)
    / case when skip is null then $7::int else 1000 end as part
  from timed t
), numbered as materialized (
  select g.*, nextval('messages_id_seq') as message_id
  from (select * from grouped order by skip is not null, due, local, part, variant, id) g
), written as (
  insert into messages (id, account_id, brand_id, channel, class, status, to_address, to_key, from_address, reply_to,
      template_id, contact_id, campaign_id, content_version_id, variant, tracking, failure)
  select n.message_id, c.account_id, c.brand_id, c.channel, 2,
    case when n.skip is null then 'queued' else 'skipped' end, n.address, n.key, c.from_address, c.reply_to,
    c.template_id, n.id, c.id, c.version_ids[n.variant + 1], n.variant, c.tracking,
    case
    when n.skip is not null then jsonb_build_object('code', n.skip, 'message', case n.skip
      when 'no_address' then 'the contact has no address of this channel'
      when 'unsubscribed' then 'the contact is unsubscribed' when 'suppressed' then 'the address is suppressed'
      when 'duplicate_address' then 'the campaign has this address already'
      when 'frequency_cap' then 'the contact has received enough messages' end) end
  from numbered n, campaigns c where c.id = $4::bigint
), blocks as (
  insert into campaign_blocks (campaign_id, n, account_id, channel, provider_id, domain_id, first_id, last_id, size,
      variant, due_at, not_before, closed_at, recount, skipped)
  select c.id, $8::int + row_number() over (order by b.first_id) - 1, c.account_id, c.channel,
    coalesce(c.provider_id, 0), c.domain_id, b.first_id, b.last_id, b.size, coalesce(b.variant, 0), b.due, b.local,
    case when b.skipped then now() end, not b.skipped, case when b.skipped then b.size else 0 end
  from (
    select skip is not null as skipped, due, local, variant, part, min(message_id) as first_id,
      max(message_id) as last_id, count(*) as size
    from numbered group by 1, 2, 3, 4, 5
  ) b, campaigns c where c.id = $4::bigint
  returning n
)
select (select count(*) from numbered) as recipients, (select count(*) from blocks) as blocks, $10::bigint, $9::bigint,
  $11::float8[], $5::bigint
