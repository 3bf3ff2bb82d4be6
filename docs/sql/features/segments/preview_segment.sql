-- Written by npm run sql: see docs/statements.md.
--
-- An example. Contacts who bought twice in a month, are not on a free plan, and have an address at example.com.
-- Composed in src/features/segments/reads.ts.
--
-- $1 bigint: the brand
-- $2 integer: the name of the event
-- $3 timestamp with time zone: the beginning of the period
-- $4 bigint: how often, at least
-- $5 text: the path of the data
-- $6 jsonb[]: values of the data
-- $7 text[]: the patterns of the email

with members as materialized (select c.id from contacts c
  where c.brand_id = $1
    and (exists (select 1
      from (select e.contact_id from contact_events e
        where e.name_id = $2::integer and not e.test and e.created_at >= $3::timestamptz
        group by e.contact_id having count(*) >= $4::bigint) e where e.contact_id = c.id)
      and not coalesce((c.data -> $5::text) = any($6::jsonb[]), false)
      and coalesce(c.email_key like any($7::text[]), false)))
select (select count(*) from members) as count,
  array(select id from members order by id desc limit 10) as ids
