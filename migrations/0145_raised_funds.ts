/**
 * Notifies the processes that accept messages when an account may spend or send more, whichever program has changed it.
 * What these processes know about the account is then wrong.
 */
export const name = '0145_raised_funds';

export const up = `
-- NOTIFY serializes commits, so none of these triggers is on the way of a message.
create function notify_raised_funds() returns trigger language plpgsql as $$
declare account bigint;
begin
  for account in select account_id from added group by account_id having sum(millicents) > 0 loop
    perform pg_notify('carillon_funds', account::text);
  end loop;
  return null;
end $$;
create trigger wallet_entries_notified after insert on wallet_entries referencing new table as added
  for each statement execute function notify_raised_funds();

create function notify_raised_limits() returns trigger language plpgsql as $$
begin
  perform pg_notify('carillon_funds', new.id::text);
  return null;
end $$;
create trigger accounts_limits_notified after update
  of spend_cap_monthly_cents, sandbox_monthly_cap, monthly_email_allowance, tier, comped, kind on accounts for each row
  when ((old.spend_cap_monthly_cents, old.sandbox_monthly_cap, old.monthly_email_allowance, old.tier, old.comped, old.kind)
    is distinct from
    (new.spend_cap_monthly_cents, new.sandbox_monthly_cap, new.monthly_email_allowance, new.tier, new.comped, new.kind))
  execute function notify_raised_limits();

create function notify_changed_prices() returns trigger language plpgsql as $$
begin
  perform pg_notify('carillon_funds', '');
  return null;
end $$;
create trigger prices_notified after insert or update or delete on prices
  for each statement execute function notify_changed_prices();
`;

export const down = `
drop trigger prices_notified on prices;
drop function notify_changed_prices();
drop trigger accounts_limits_notified on accounts;
drop function notify_raised_limits();
drop trigger wallet_entries_notified on wallet_entries;
drop function notify_raised_funds();
`;
