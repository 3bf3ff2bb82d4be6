/**
 * One row per suppressed address, the count of soft bounces, the fence between suppressions and intents, and the
 * figures that the brakes of accounts read.
 */
export const name = '0022_suppressions';

export const up = `
-- An address has one row, which a new suppression replaces once the former one has ended.
delete from suppressions s using suppressions newer
where newer.account_id = s.account_id and newer.address_key = s.address_key
  and (newer.released_at is null, newer.id) > (s.released_at is null, s.id);
drop index suppressions_active;
create unique index suppressions_address on suppressions (account_id, address_key);

create function address_without_tag(address_key text) returns text language sql immutable strict parallel safe as $$
  select case when address_key ~ '^[^"+@][^"+@]*\\+[^"@]*@' then regexp_replace(address_key, '\\+[^@]*@', '@')
    else address_key end
$$;
comment on function address_without_tag is 'ada@x.org for ada+news@x.org; any other key unchanged';
alter table suppressions
  add column untagged_key text not null generated always as (address_without_tag(address_key)) stored;
comment on column suppressions.untagged_key is 'compared instead of address_key with SUPPRESS_PLUS_ADDRESSES';
create index suppressions_untagged on suppressions (account_id, untagged_key);

create table soft_bounces (
  account_id bigint not null references accounts on delete cascade,
  address_key text not null,
  count smallint not null,
  last_at timestamptz not null default now(),
  primary key (account_id, address_key)
);
comment on table soft_bounces is 'soft bounces in a row; from the third, the address is suppressed for a time';
create index soft_bounces_age on soft_bounces (last_at);

-- Functions, not subqueries of the statement that records outcomes: that would open every partition of messages each time.
create function reached_since(account bigint, address text, since timestamptz) returns boolean
language plpgsql stable as $$
declare
  oldest constant timestamptz := now() - interval '90 days';
  -- Ranges of message ids that ended before then have no younger message.
  first_id constant bigint := coalesce((
    select min(n) from message_ranges where closed_at is null or closed_at >= oldest), 0) * 4294967296;
begin
  return exists (
    select 1 from brands b cross join lateral (
      select m.created_at, m.delivered_at, m.opened_at, m.clicked_at from messages m
      where m.brand_id = b.id and m.to_key = address and m.id >= first_id order by m.id desc limit 100) m
    where b.account_id = account and m.created_at >= oldest
      and greatest(m.delivered_at, m.opened_at, m.clicked_at) > since);
end $$;
comment on function reached_since is
  'whether one of the newest messages of each brand to the address, of the last 90 days, was delivered, opened or clicked since then';

create function was_sent(message bigint) returns boolean language plpgsql stable as $$
begin
  return exists (select 1 from messages m where m.id = message and m.sent_at is not null);
end $$;

alter table accounts add column recipients_changed_at timestamptz;
comment on column accounts.recipients_changed_at is
  'when the API last suppressed or unsubscribed a recipient, within five seconds; see await_intents';
create index suppressions_ending on suppressions (account_id, id)
  where released_at is not null or expires_at is not null;

-- Volatile: each call sees what is committed, not only what its statement saw when it began.
create function is_suppressed(account bigint, address text, untagged boolean) returns boolean language plpgsql as $$
begin
  return exists (
    select 1 from suppressions s where s.account_id = account and s.address_key = address
      and s.released_at is null and (s.expires_at is null or s.expires_at > clock_timestamp()))
  or (untagged and exists (
    select 1 from suppressions s where s.account_id = account and s.untagged_key = address_without_tag(address)
      and s.released_at is null and (s.expires_at is null or s.expires_at > clock_timestamp())));
end $$;

-- An intent under way has a shared lock on its accounts, see accounts_to_send. Waiting for the transactions that have it
-- now stops no other intent, as waiting for an exclusive lock would.
create function await_intents(account bigint) returns void language plpgsql as $$
declare
  under_way text[] := array(
    select l.virtualtransaction from pg_locks l
    where l.locktype = 'advisory' and l.granted and l.mode = 'ShareLock' and l.objsubid = 2
      and l.database = (select oid from pg_database where datname = current_database())
      and l.classid = 1129468235 and l.objid = (account % 256)::oid and l.pid <> pg_backend_pid());
begin
  while exists (
    select 1 from pg_locks l where l.locktype = 'advisory' and l.classid = 1129468235 and l.granted
      and l.virtualtransaction = any(under_way))
  loop
    perform pg_sleep(0.002);
  end loop;
end $$;
comment on function await_intents is
  'waits for the intents of the account that are under way; those that begin meanwhile are not waited for';

create table account_outcomes (
  account_id bigint not null references accounts on delete cascade,
  hour timestamptz not null,
  attempted integer not null default 0,
  hard_bounces integer not null default 0,
  complaints integer not null default 0,
  primary key (account_id, hour)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
comment on table account_outcomes is
  'emails of the last seven days since sending was last resumed, counted in the hour in which their outcome was recorded';
comment on column account_outcomes.attempted is 'accepted by a provider, or bounced at hand-over';
create index account_outcomes_hour on account_outcomes (hour);
create index allowance_buckets_bucket on allowance_buckets (bucket);

alter table accounts add column sending_paused_by text check (sending_paused_by in ('operator', 'brakes'));
comment on column accounts.sending_paused_by is 'only the pause of an operator makes tracked links dead';

create table allowance_episodes (
  account_id bigint primary key references accounts on delete cascade,
  approaching boolean not null,
  reached boolean not null
);
comment on table allowance_episodes is 'which of sending.limit_approaching and sending.limit_reached was published last';
`;

export const down = `
drop table allowance_episodes;
drop index allowance_buckets_bucket;
alter table accounts drop column sending_paused_by;
drop table account_outcomes;
drop function await_intents, is_suppressed;
drop index suppressions_ending;
alter table accounts drop column recipients_changed_at;
drop function was_sent, reached_since;
drop table soft_bounces;
alter table suppressions drop column untagged_key;
drop function address_without_tag;
drop index suppressions_address;
create unique index suppressions_active on suppressions (account_id, address_key) where released_at is null;
`;
