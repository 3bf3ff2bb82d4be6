/**
 * A short way to reserve what emails cost: the statement for all messages has parts for texts, several accounts and
 * free emails, and each part costs time even if it has nothing to do. A function runs only what it needs. Its name has
 * a version: other text needs another name, because processes of both versions run during an update.
 */
export const name = '0106_priced_emails';

export const up = `
create function reserve_emails_v1(
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
    and m.free_units >= coalesce(a.monthly_email_allowance, case a.tier
      when 'free' then (settings ->> 'monthly_emails_free')::int
      when 'paid' then (settings ->> 'monthly_emails_paid')::int
      else (settings ->> 'monthly_emails_trusted')::int end)
  returning m.month, p.millicents,
    coalesce(a.spend_cap_monthly_cents::bigint * 1000 - m.spent_millicents - m.validation_millicents, 0)
  into price_month, price_millicents, below_cap;
  if found then
    -- The next query sees what was committed before the lock was granted: at the turn of a month, others may take
    -- something under the lock of another month.
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
    and m.free_units + emails <= coalesce(a.monthly_email_allowance, case a.tier
      when 'free' then (settings ->> 'monthly_emails_free')::int
      when 'paid' then (settings ->> 'monthly_emails_paid')::int
      else (settings ->> 'monthly_emails_trusted')::int end)
  returning m.month, 0 into price_month, price_millicents;
  if not found then perform refuse_beyond_purse(account); end if;
end $$;
comment on function reserve_emails_v1 is
  'reserves what emails of an account cost in the current month, and returns the price of each. Raises CL003 if the account cannot pay for all of them, or if more has to be known: some of them are free, or a validation is under way';
`;

export const down = `drop function reserve_emails_v1;`;
