/** What accounts have reserved of their money: by month, and for each open queue row and block. */
export const name = '0049_money';

export const up = `
-- The month of what is reserved now. Statements take it from here, and tests of the end of a month replace it.
create function current_month() returns date language sql stable parallel safe as $$
  select date_trunc('month', now() at time zone 'utc')::date
$$;

create table account_months (
  account_id bigint not null references accounts on delete cascade,
  month date not null check (extract(day from month) = 1),
  email_units bigint not null default 0,
  free_units bigint not null default 0,
  sms_units bigint not null default 0,
  spent_millicents bigint not null default 0,
  validation_millicents bigint not null default 0,
  posted_at timestamptz,
  primary key (account_id, month)
) with (fillfactor = 50);
comment on table account_months is
  'what priced messages have reserved; rises when a message or block is reserved, falls only when one is given back. Accounts without prices have no rows. Locked before idempotency keys, messages, queue rows and blocks, in the order of the key, by statements that reserve; statements that give back lock it after messages, queue rows and blocks';
comment on column account_months.email_units is 'emails, those of the allowance and those paid for';
comment on column account_months.free_units is 'emails of the monthly allowance: they cost nothing';
comment on column account_months.sms_units is 'segments';
comment on column account_months.spent_millicents is 'messages, without validations';
comment on column account_months.validation_millicents is 'validations, when they are settled';
comment on column account_months.posted_at is 'when the usage entry of the month was written; what is given back later counts in the current month';

-- Locks the month and the wallet of each account that pays, in the order that all statements keep. The prices and the
-- wallet are tables of the next migration.
create function lock_months(ids bigint[]) returns void language plpgsql as $$
declare
  paying bigint[];
begin
  if not exists (select from prices where millicents > 0) then return; end if;
  paying := array(
    select a.id from accounts a
    where a.id = any(ids) and not a.comped and a.kind = 'customer'
      and exists (select from prices p where p.tier = a.tier and p.millicents > 0)
    order by a.id);
  if cardinality(paying) = 0 then return; end if;
  insert into account_months (account_id, month)
  select id, current_month() from unnest(paying) as each (id)
  where not exists (select from account_months m where m.account_id = id and m.month = current_month())
  order by id on conflict do nothing;
  perform from account_months where account_id = any(paying) and month = current_month()
  order by account_id for update;
  perform from wallets where account_id = any(paying) order by account_id for update;
end $$;

create function refuse_unreserved(account bigint) returns boolean language plpgsql as $$
begin
  raise exception 'messages of account % cost something and have reserved nothing', account using errcode = 'CL002';
end $$;

create table unknown_charges (
  message_id bigint primary key,
  account_id bigint not null references accounts on delete cascade,
  channel text not null,
  month date not null,
  millicents bigint not null,
  units integer not null
);
comment on table unknown_charges is
  'messages that left the queue without a known outcome: they are charged, and given back if a report shows that they were not sent. Rows of posted months are deleted';

alter table send_queue
  add column price_month date,
  add column price_millicents bigint,
  add column price_units smallint,
  add column price_country char(2);
comment on column send_queue.price_month is 'the month in which the message has reserved its price; null: it has reserved nothing';
comment on column send_queue.price_units is 'emails or segments that it has reserved, or, before that, the segments that it will reserve';
comment on column send_queue.price_country is 'of the phone number; for messages that reserve when they are claimed';

alter table campaign_blocks
  add column price_month date,
  add column price_millicents bigint not null default 0,
  add column price_units integer not null default 0,
  add column free_units integer not null default 0,
  add column unit_millicents bigint,
  add column price_list jsonb;
comment on column campaign_blocks.price_month is 'as in send_queue';
comment on column campaign_blocks.price_millicents is
  'what is left of the reservation: messages that are sent take their prices with them; those that go to queue rows reserve theirs again';
comment on column campaign_blocks.price_units is 'what is left of the emails or segments';
comment on column campaign_blocks.free_units is 'how many of these emails cost nothing; those that leave the block take them first';
comment on column campaign_blocks.unit_millicents is 'the price of an email above the allowance';
comment on column campaign_blocks.price_list is 'of texts: {message id: [millicents, segments]}';
`;

export const down = `
alter table campaign_blocks
  drop column price_month, drop column price_millicents, drop column price_units, drop column free_units,
  drop column unit_millicents, drop column price_list;
alter table send_queue
  drop column price_month, drop column price_millicents, drop column price_units, drop column price_country;
drop table unknown_charges, account_months;
drop function lock_months, refuse_unreserved, current_month;
`;
