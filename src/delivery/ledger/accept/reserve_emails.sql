-- Reserves what emails of an account cost in the current month, and returns the price of each. Raises CL003 if the
-- account cannot pay for all of them, or if more has to be known: some of them are free, or a validation is under way.
-- The statement for all messages has parts for texts, several accounts and free emails, and each part costs time even
-- if it has nothing to do.
--
-- sent by: writeMessages
-- account: the account that pays
-- emails: how many emails
-- settings: the settings of the limits
-- locks: the row of the account in account_months, then its row in wallets
-- sees: the first update locks the month, so the queries after it see what others have reserved until then; at the turn
--   of a month, that includes what was taken under the lock of another month
create function reserve_emails(
  account bigint, emails int, settings jsonb, out price_month date, out price_millicents bigint)
language plpgsql as $$
declare
  below_cap bigint;
  has_funds boolean;
begin
  -- This locks the month, so that nothing else can reserve money until the commit.
  update account_months m
  set email_units = m.email_units + emails, spent_millicents = m.spent_millicents + emails * p.millicents
  from accounts a join prices p on p.tier = a.tier and p.kind = 'email' and p.millicents > 0
  where m.account_id = account and m.month = current_month() and a.id = account and a.kind = 'customer' and not a.comped
    and m.free_units >=
      -- <monthly_emails>
      coalesce(a.monthly_email_allowance, case a.tier
        when 'free' then (settings ->> 'monthly_emails_free')::int
        when 'paid' then (settings ->> 'monthly_emails_paid')::int
        else (settings ->> 'monthly_emails_trusted')::int end)
      -- </monthly_emails>
  returning m.month, p.millicents,
    coalesce(a.spend_cap_monthly_cents::bigint * 1000 - m.spent_millicents - m.validation_millicents, 0)
  into price_month, price_millicents, below_cap;
  if found then
    perform from wallets w where w.account_id = account for no key update;
    select w.entries_millicents >= (
      select sum(s.spent_millicents) from account_months s where s.account_id = account and s.posted_at is null)
    into has_funds
    from wallets w
    where w.account_id = account and not exists (
      select from validation_operations o where o.account_id = account and o.reserved_millicents > 0);
    if below_cap < 0 or has_funds is not true then perform refuse_beyond_purse(account); end if;
    return;
  end if;
  update account_months m set email_units = m.email_units + emails, free_units = m.free_units + emails
  from accounts a join prices p on p.tier = a.tier and p.kind = 'email' and p.millicents > 0
  where m.account_id = account and m.month = current_month() and a.id = account and a.kind = 'customer' and not a.comped
    and m.free_units + emails <=
      -- <monthly_emails>
      coalesce(a.monthly_email_allowance, case a.tier
        when 'free' then (settings ->> 'monthly_emails_free')::int
        when 'paid' then (settings ->> 'monthly_emails_paid')::int
        else (settings ->> 'monthly_emails_trusted')::int end)
      -- </monthly_emails>
  returning m.month, 0 into price_month, price_millicents;
  if not found then perform refuse_beyond_purse(account); end if;
end $$;
