-- Written by npm run sql: see docs/statements.md.
--
-- An example. A page of verified contacts of a list, found by the beginning of their names.
-- Composed in src/features/contacts/list.ts.
--
-- $1 bigint: the brand
-- $2 bigint: the list
-- $3 boolean: whether they are subscribed
-- $4 text: the pattern of the names
-- $5 text[]: the patterns of the email
-- $6 text: the regular expression of the phone number

select c.id, c.account_id, c.brand_id, c.uuid, c.first_name, c.last_name, c.source, c.country_code, c.data,
  c.email, c.email_key, c.email_subscribed, c.email_verified, c.email_opt_in_at, c.email_opt_in_source,
  c.email_opt_out_at, c.email_data,
  c.email_created_at, c.email_updated_at, c.phone, c.phone_subscribed, c.phone_verified, c.phone_opt_in_at,
  c.phone_opt_in_source, c.phone_opt_out_at, c.phone_data, c.phone_created_at, c.phone_updated_at, c.enriched_at,
  c.created_at, c.updated_at,
  coalesce(ec.sent_count, 0) as email_sent_count, coalesce(ec.fail_count, 0) as email_fail_count,
  coalesce(pc.sent_count, 0) as phone_sent_count, coalesce(pc.fail_count, 0) as phone_fail_count,
  a.last_interacted_at, exists (
  select true from suppressions s
  where s.account_id = c.account_id and s.address_key = any(array[c.email_key, c.phone]) and s.released_at is null
    and (s.expires_at is null or s.expires_at > now())) as suppressed,
  array(
  select m.list_id from list_members m join lists l on l.id = m.list_id and l.removed_at is null
  where m.contact_id = c.id order by m.list_id) as list_ids from (
  select * from contacts c where c.brand_id = $1 and exists (
    select 1 from list_members m join lists l on l.id = m.list_id
    where m.list_id = $2 and m.contact_id = c.id and l.brand_id = c.brand_id and l.removed_at is null)
    and (c.email_subscribed or c.phone_subscribed) = $3 and (c.email_key like any($5::text[])
      or c.phone ~ $6::text or lower(c.last_name) like lower($4)
      or lower(concat_ws(' ', c.first_name, c.last_name)) like lower($4)) and (c.email_verified or c.phone_verified)
    and not exists (
    select true from suppressions s
    where s.account_id = c.account_id and s.address_key = any(array[c.email_key, c.phone]) and s.released_at is null
      and (s.expires_at is null or s.expires_at > now())) and c.id < 1000 order by c.id desc limit 50 offset 0) c
left join contact_activity a on a.contact_id = c.id
left join contact_channel_counts ec on ec.contact_id = c.id and ec.channel = 'email'
left join contact_channel_counts pc on pc.contact_id = c.id and pc.channel = 'sms' order by c.id desc
