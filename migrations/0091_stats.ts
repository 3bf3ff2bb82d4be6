/** Figures over time: how many messages of a brand were sent, delivered, opened and so on, by quarter of an hour. */
export const name = '0091_stats';

export const up = `
alter table messages add column bounced_at timestamptz, add column complained_at timestamptz,
  add column unsubscribed_at timestamptz;
comment on column messages.bounced_at is
  'when the message first bounced, at hand-over or by a report; null for bounces before migration 0091, whose times are in message_events';
comment on column messages.complained_at is
  'when the recipient complained; null for complaints before migration 0091, whose times are in message_events';
comment on column messages.unsubscribed_at is
  'when the recipient first unsubscribed by a link or a header of the message; before migration 0091 only opt_outs has it';

create table stat_changes (
  brand_id bigint not null,
  slot timestamptz not null,
  source text not null,
  channel text not null,
  name text not null,
  count int not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000);
comment on table stat_changes is
  'what happened to messages, as rows of their own, so that no two senders wait for one counter. A worker folds them into stat_counts';
create index stat_changes_brand on stat_changes (brand_id, slot);

create table stat_counts (
  brand_id bigint not null references brands on delete cascade,
  slot timestamptz not null,
  source text not null check (source in ('campaign', 'flow', 'api')),
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
comment on column stat_counts.slot is 'the beginning of the quarter of an hour in which it happened, so that days of every time zone can be summed';
`;

export const down = `
drop table stat_counts, stat_changes;
alter table messages drop column bounced_at, drop column complained_at, drop column unsubscribed_at;
`;
