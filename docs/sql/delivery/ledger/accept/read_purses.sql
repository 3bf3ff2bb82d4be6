-- Prepared as read_purses
-- Written by npm run sql: see docs/statements.md.
--
-- Reads what messages cost and what their accounts may spend.
-- Defined in src/delivery/ledger/accept/reserve.ts, sent by readMessageFunds().
--
-- $1 bigint[]: the messages
-- $2 bigint[]: their accounts
-- $3 text[]: their channels
-- $4 text[]: the keys of their addresses
-- $5 jsonb: the settings of the limits

with asking as (
  select * from unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[]) as i (id, account_id, channel, to_key)
), purse as materialized (
  select a.id, a.tier, pays, current_month() as month, case
    when pays then greatest(0, coalesce(a.monthly_email_allowance, case a.tier
        when 'free' then ($5::jsonb ->> 'monthly_emails_free')::int
        when 'paid' then ($5::jsonb ->> 'monthly_emails_paid')::int
        else ($5::jsonb ->> 'monthly_emails_trusted')::int end) - coalesce((
        select s.free_units from account_months s where s.account_id = a.id and s.month = current_month()), 0))
    else 0 end as free,
    case when pays then (a.spend_cap_monthly_cents::bigint * 1000) - (coalesce((
        select s.spent_millicents + s.validation_millicents from account_months s
        where s.account_id = a.id and s.month = current_month()),
        0) + coalesce((
        select sum(v.reserved_millicents) from validation_operations v
        where v.account_id = a.id and v.reserved_millicents > 0 and v.price_month = current_month()),
        0))::bigint end as cap,
    case
    when pays then (
      coalesce((select w.entries_millicents from wallets w where w.account_id = a.id), 0)
      - coalesce((select sum(s.spent_millicents) from account_months s
        where s.account_id = a.id and s.posted_at is null), 0)
      - coalesce((select sum(v.reserved_millicents) from validation_operations v
        where v.account_id = a.id and v.reserved_millicents > 0), 0))::bigint else 0 end as funds
  from accounts a cross join lateral (select (not a.comped and a.kind = 'customer' and exists (
        select from prices p where p.tier = a.tier and p.millicents > 0)) as pays offset 0) p
  where a.id = any($2)
)
select i.id, i.account_id as "accountId", u.month::text, u.free::int, u.cap, u.funds,
  case when a.comped or a.kind <> 'customer' then 0 when i.channel = 'sms' then case
  when exists (select from prices p where p.tier = a.tier and p.kind = 'sms')
  then (select p.millicents from prices p
  where p.tier = a.tier and p.kind = 'sms' and p.country = phone_country(i.to_key))
  else 0 end
  when u.pays then coalesce((select p.millicents from prices p where p.tier = a.tier and p.kind = 'email'), 0)
  else 0 end as price
from asking i join purse u on u.id = i.account_id join accounts a on a.id = u.id
