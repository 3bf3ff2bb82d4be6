/** The usage of accounts in each month: emails, SMS, and requests to the endpoint that finds a brand's tone. */
export const name = '0051_usage';

export const up = `
alter table messages add column unknown_at timestamptz, add column unsent_at timestamptz;
comment on column messages.unknown_at is
  'when the message was first charged because an attempt has no known outcome; null: never';
comment on column messages.unsent_at is 'when the charge of a message was given back although it was unknown before, or was reported as sent after; it stays so';

create table usage_changes (
  account_id bigint not null,
  month date not null,
  email_used integer not null default 0,
  sms_used integer not null default 0,
  ai_used integer not null default 0,
  email_sent integer not null default 0,
  sms_sent integer not null default 0
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
comment on table usage_changes is
  'what accounts used, as rows of their own, so that no two senders wait for one counter. A worker folds them into account_usage and account_counters';
create index usage_changes_account on usage_changes (account_id);

create table account_usage (
  account_id bigint not null references accounts on delete cascade,
  month date not null,
  email_used bigint not null default 0,
  sms_used bigint not null default 0,
  ai_used bigint not null default 0,
  primary key (account_id, month)
) with (fillfactor = 70);
comment on table account_usage is 'charged outcomes by calendar month (UTC): messages that were sent or are unknown';

update messages set unknown_at = updated_at where status = 'unknown' and sent_at is null and not test;
insert into account_usage (account_id, month, email_used, sms_used)
select account_id, date_trunc('month', coalesce(sent_at, unknown_at) at time zone 'utc')::date,
  count(*) filter (where channel = 'email'), coalesce(sum(coalesce(segments, 1)) filter (where channel = 'sms'), 0)
from messages
where not test and coalesce(sent_at, unknown_at) >=
    (date_trunc('month', now() at time zone 'utc') - interval '1 month') at time zone 'utc'
  and account_id in (select account_id from account_counters)
group by 1, 2;
`;

export const down = `
drop table account_usage, usage_changes;
alter table messages drop column unknown_at, drop column unsent_at;
`;
