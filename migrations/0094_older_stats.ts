/** Figures by the hour, and the count of messages that are older than the figures. */
export const name = '0094_older_stats';

export const up = `
create table stat_hours (
  brand_id bigint not null references brands on delete cascade,
  slot timestamptz not null,
  source text not null,
  channel text not null,
  sent bigint not null default 0,
  delivered bigint not null default 0,
  bounced bigint not null default 0,
  complained bigint not null default 0,
  opened bigint not null default 0,
  clicked bigint not null default 0,
  unsubscribed bigint not null default 0,
  primary key (brand_id, slot, source, channel)
) with (fillfactor = 80);
comment on table stat_hours is
  'the sums of stat_counts by the hour in UTC, written with them, so that a year of days is read from a quarter of the rows';

alter table stat_changes add column message_id bigint;
comment on column stat_changes.message_id is
  'a message that older_stats has not reached yet; its change is dropped when it is reached, and not folded before';
create index stat_changes_message on stat_changes (message_id) where message_id is not null;

create table older_stats (
  reached_id bigint not null,
  last_id bigint not null,
  first_id bigint,
  complete_since timestamptz not null default date_bin('15 minutes', now(), '2000-01-01 00:00+00'::timestamptz)
);
comment on table older_stats is
  'one row: what happened to messages up to last_id before changes were recorded is counted, up to reached_id so far';
comment on column older_stats.complete_since is
  'from then on, everything that happened to messages can be counted again: retention has dropped none since, as first_id shows';
insert into older_stats (reached_id, last_id)
select 0, case when is_called then last_value else 0 end from messages_id_seq;

-- Opt-outs are not indexed by message, and are few.
update messages m set unsubscribed_at = o.opted_out_at from opt_outs o
where o.source = 'one_click' and o.message_id = m.id and o.brand_id = m.brand_id and m.unsubscribed_at is null;
`;

export const down = `
drop table older_stats, stat_hours;
drop index stat_changes_message;
alter table stat_changes drop column message_id;
update messages set unsubscribed_at = null where unsubscribed_at is not null;
`;
