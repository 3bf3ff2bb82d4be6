-- Reserves what messages cost in the current month, in the order in which they are given: each message that still fits
-- is reserved, and each other one gets the reason why not. Emails use up the monthly allowance first.
--
-- called by: write_messages
-- accounts: the account of each message; null: nothing is reserved for the message
-- channels: the channel of each message
-- numbers: the key of the recipient of each message
-- segments: the segments of each text
-- settings: the settings of the limits
-- locks: account_months, in the order of the accounts, then wallets, in the same order
-- sees: the months as they are once they are locked, and what it has reserved itself. Wallets, earlier months and validations are read by a later query,
--   so it sees what was committed until all locks were granted; at the turn of a month, that includes what was taken
--   under the lock of another month. Prices, tiers and caps are those from before the wait
create function reserve_messages(
  accounts bigint[], channels text[], numbers text[], segments int[], settings jsonb,
  out in_month date, out prices bigint[], out units int[], out refusals text[])
language plpgsql as $$
declare
  -- What is known of the accounts that pay, a value for each.
  payers bigint[];
  email_prices bigint[];
  free bigint[];
  below_caps bigint[];
  funds bigint[];
  -- What their messages take.
  emails bigint[];
  free_emails bigint[];
  texts bigint[];
  spent bigint[];
  text_prices bigint[];
  month_begins boolean := false;
  below_cap bigint;
  has_funds boolean;
  by_message boolean;
  p int;
  price bigint;
  size int;
  reason text;
begin
  -- The usual case takes half the time: emails of one account, all of which cost something and fit.
  if accounts[1] = all (accounts) and channels[1] = all (channels) and
    -- <first_by_message>
    channels[1] = 'email'
    -- </first_by_message>
  then
    size := cardinality(accounts);
    update account_months m
    set email_units = m.email_units + size, spent_millicents = m.spent_millicents + size * p.millicents
    from accounts a join prices p on p.tier = a.tier and p.kind = 'email' and p.millicents > 0
    where m.account_id = accounts[1] and m.month = current_month() and a.id = accounts[1] and a.kind = 'customer'
      and not a.comped and m.free_units >=
        -- <monthly_emails>
        coalesce(a.monthly_email_allowance, case a.tier
          when 'free' then (settings ->> 'monthly_emails_free')::int
          when 'paid' then (settings ->> 'monthly_emails_paid')::int
          else (settings ->> 'monthly_emails_trusted')::int end)
        -- </monthly_emails>
    returning m.month, p.millicents, coalesce(
      -- <cap>
      (a.spend_cap_monthly_cents::bigint * 1000)
      -- </cap>
      - m.spent_millicents - m.validation_millicents, 0)
    into in_month, price, below_cap;
    if found then
      perform from wallets w where w.account_id = accounts[1] for no key update;
      select w.entries_millicents >= (
        select sum(s.spent_millicents) from account_months s where s.account_id = accounts[1] and s.posted_at is null)
      into has_funds
      from wallets w
      where w.account_id = accounts[1] and not exists (
        select from validation_operations o where o.account_id = accounts[1] and o.reserved_millicents > 0);
      if below_cap >= 0 and has_funds then
        prices := array_fill(price, array[size]);
        units := array_fill(1, array[size]);
        return;
      end if;
      -- More has to be known. The month stays locked.
      update account_months m
      set email_units = m.email_units - size, spent_millicents = m.spent_millicents - size * price
      where m.account_id = accounts[1] and m.month = in_month;
    end if;
  end if;
  -- The rows of a new month are inserted before months of other accounts are locked.
  if accounts[1] <> any (accounts) then
    month_begins := exists (select from unnest(accounts) i (id) where i.id is not null and not exists (
      select from account_months m where m.account_id = i.id and m.month = current_month()));
  end if;
  loop
    if month_begins then perform lock_months(accounts); end if;
    select max(l.month), array_agg(l.account_id), array_agg(l.email_price), array_agg(l.free), array_agg(l.below_cap)
    into in_month, payers, email_prices, free, below_caps
    from (
      select m.account_id, m.month,
        -- <email_price>
        coalesce((select p.millicents from prices p where p.tier = a.tier and p.kind = 'email'), 0)
        -- </email_price>
        as email_price,
        greatest(0,
          -- <monthly_emails>
          coalesce(a.monthly_email_allowance, case a.tier
            when 'free' then (settings ->> 'monthly_emails_free')::int
            when 'paid' then (settings ->> 'monthly_emails_paid')::int
            else (settings ->> 'monthly_emails_trusted')::int end)
          -- </monthly_emails>
          - m.free_units) as free,
        -- <cap>
        (a.spend_cap_monthly_cents::bigint * 1000)
        -- </cap>
        - m.spent_millicents - m.validation_millicents as below_cap
      from accounts a join account_months m on m.account_id = a.id and m.month = current_month()
      where a.id = any (accounts) and
        -- <pays>
        (not a.comped and a.kind = 'customer' and exists (
          select from prices p where p.tier = a.tier and p.millicents > 0))
        -- </pays>
      order by a.id for no key update of m) l;
    exit when payers is not null or month_begins;
    month_begins := true;
  end loop;
  if payers is not null then
    perform from wallets w where w.account_id = any (payers) order by w.account_id for no key update;
    select array_agg(
        -- <balance>
        (
          coalesce((select w.entries_millicents from wallets w where w.account_id = i.id), 0)
          - coalesce((select sum(s.spent_millicents) from account_months s
            where s.account_id = i.id and s.posted_at is null), 0)
          - coalesce((select sum(v.reserved_millicents) from validation_operations v
            where v.account_id = i.id and v.reserved_millicents > 0), 0))::bigint
        -- </balance>
        order by i.n),
      array_agg(below_caps[i.n] - coalesce((select sum(v.reserved_millicents) from validation_operations v
        where v.account_id = i.id and v.reserved_millicents > 0 and v.price_month = in_month), 0) order by i.n)
    into funds, below_caps
    from unnest(payers) with ordinality i (id, n);
    emails := array_fill(0::bigint, array[cardinality(payers)]);
    free_emails := emails;
    texts := emails;
    spent := emails;
  end if;
  if exists (select from unnest(channels) i (channel) where
    -- <paid_by_segment>
    i.channel = 'sms'
    -- </paid_by_segment>
  ) then
    select array_agg(case when a.comped or a.kind <> 'customer' then 0 else
        -- <text_price>
        case when exists (select from prices p where p.tier = a.tier and p.kind = 'sms')
        then (select p.millicents from prices p
        where p.tier = a.tier and p.kind = 'sms' and p.country = phone_country(i.number))
        else 0 end
        -- </text_price>
      end order by i.n)
    into text_prices
    from unnest(accounts, numbers) with ordinality i (account_id, number, n) left join accounts a on a.id = i.account_id;
  end if;
  prices := array_fill(null::bigint, array[cardinality(accounts)]);
  units := array_fill(null::int, array[cardinality(accounts)]);
  for n in 1 .. cardinality(accounts) loop
    p := array_position(payers, accounts[n]);
    by_message :=
      -- <paid_by_message>
      channels[n] = 'email'
      -- </paid_by_message>
    ;
    price := case when by_message then email_prices[p] else text_prices[n] end;
    size := case when by_message then 1 else coalesce(segments[n], 1) end;
    reason := null;
    if price is null and not by_message and accounts[n] is not null then
      reason := 'no_price';
    elsif p is null or price = 0 then
      -- The message costs nothing.
    elsif by_message and free[p] > 0 then
      prices[n] := 0;
      units[n] := 1;
      free[p] := free[p] - 1;
      emails[p] := emails[p] + 1;
      free_emails[p] := free_emails[p] + 1;
    elsif price * size > below_caps[p] then
      reason := 'spend_cap_reached';
    elsif price * size > funds[p] then
      reason := 'insufficient_funds';
    else
      price := price * size;
      prices[n] := price;
      units[n] := size;
      below_caps[p] := below_caps[p] - price;
      funds[p] := funds[p] - price;
      spent[p] := spent[p] + price;
      if by_message then emails[p] := emails[p] + 1; else texts[p] := texts[p] + size; end if;
    end if;
    if reason is not null then
      if refusals is null then refusals := array_fill(null::text, array[cardinality(accounts)]); end if;
      refusals[n] := reason;
    end if;
  end loop;
  update account_months m
  set email_units = m.email_units + i.emails, free_units = m.free_units + i.free_emails,
    sms_units = m.sms_units + i.texts, spent_millicents = m.spent_millicents + i.spent
  from unnest(payers, emails, free_emails, texts, spent) i (account_id, emails, free_emails, texts, spent)
  where m.account_id = i.account_id and m.month = in_month and i.emails + i.texts > 0;
end $$;
