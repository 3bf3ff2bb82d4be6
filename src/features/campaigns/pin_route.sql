-- Chooses provider and tracking for the messages of a campaign.
--
-- sent by: pinRoute
-- $1 bigint: the account
-- $2 bigint: the brand
-- $3 text: the channel
-- $4 bigint: the domain of the sender, or null
-- $5 bigint: the provider of the sender, or null
-- $6 jsonb: the address and the key of tracked links
-- locks: nothing, or the row of provider_outages whose provider is to be tried again
select
  -- <route>
  case when case i.channel when 'email' then a.email_provider_ids
  else a.sms_provider_ids end is null then coalesce(i.provider_id, 0)
  else choose_provider(i.channel, i.provider_id, case i.channel when 'email' then a.email_provider_ids
    else a.sms_provider_ids end) end
  -- </route>
  as "providerId",
  -- <tracked>
    case when i.channel = 'email' and $6::jsonb is not null and true then (
    select case when w.opens or w.clicks
      then jsonb_strip_nulls(jsonb_build_object('opens', w.opens, 'clicks', w.clicks, 'host', w.host,
          'own', nullif($6::jsonb->>'publicUrl', w.host), 'key', $6::jsonb->>'keyId'))
      else jsonb_build_object('opens', false, 'clicks', false) end
    from (
      select h.host,
        h.host is not null and b.track_opens and coalesce((i.tracking->>'opens')::boolean, true) as opens,
        h.host is not null and b.track_clicks and coalesce((i.tracking->>'clicks')::boolean, true)
        and i.domain_id is not null as clicks
      from brands b, (select coalesce(
            (select 'https://' || d.tracking_host from domains d
            where d.id = i.domain_id and d.tracking_ok_at is not null),
            $6::jsonb->>'publicUrl') as host offset 0) h
      where b.id = i.brand_id
    ) w
  ) else case i.channel when 'email' then '{"opens": false, "clicks": false}'::jsonb end end
  -- </tracked>
  as tracking
from (select $1::bigint as account_id, $2::bigint as brand_id, $3::text as channel, $4::bigint as domain_id,
  $5::bigint as provider_id, null::jsonb as tracking) i
join accounts a on a.id = i.account_id
