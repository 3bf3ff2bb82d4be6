/** The id of this installation, and how much sending domains may send: warm-ups and paces. */
export const name = '0042_installation_and_domain_rates';

export const up = `
create table installation (
  id uuid not null default gen_random_uuid(),
  single boolean primary key default true check (single)
);
comment on table installation is
  'one row. The file "installation" in the folder of blobs has the same id; in any other folder, housekeeping leaves all files';
insert into installation default values;

create table warm_ups (
  domain_id bigint primary key references domains on delete cascade,
  account_id bigint not null,
  step integer not null default 0,
  daily_limit integer not null,
  looked_at date not null default (now() at time zone 'utc')::date,
  started_at timestamptz not null default now()
);
comment on table warm_ups is 'domains whose daily volume still grows; the row goes when the last step is done';
comment on column warm_ups.step is 'an index of WARM_UP_SCHEDULE; daily_limit is its volume';
comment on column warm_ups.looked_at is 'the outcomes of all days before this one (UTC) have been looked at';
create index warm_ups_account on warm_ups (account_id);

create table warm_up_days (
  domain_id bigint not null references warm_ups on delete cascade,
  day date not null,
  used integer not null,
  primary key (domain_id, day)
) with (fillfactor = 50);
comment on column warm_up_days.used is 'emails of the domain that were claimed for the first time on that day (UTC)';

create table domain_paces (
  domain_id bigint primary key references domains on delete cascade,
  account_id bigint not null,
  per_minute integer,
  minute timestamptz not null default '-infinity',
  used integer not null default 0
) with (fillfactor = 50);
comment on table domain_paces is 'how many emails of a domain are sent in a minute, and how many were claimed in the last one';
comment on column domain_paces.per_minute is '0: as many as the provider accepts; null: the setting PACING_PER_MINUTE';
create index domain_paces_account on domain_paces (account_id);
`;

export const down = `
drop table domain_paces, warm_up_days, warm_ups, installation;
`;
