/** Opt-outs of addresses that are known only by their HMAC, until they are applied to the contacts. */
export const name = '0041_unapplied_opt_outs';

export const up = `
create table unapplied_opt_outs (
  brand_id bigint not null,
  channel text not null,
  address_hash bytea not null,
  begins_at timestamptz not null default now(),
  lap integer,
  start_id bigint,
  applied_at timestamptz,
  primary key (brand_id, channel, address_hash),
  foreign key (brand_id, channel, address_hash) references opt_outs on delete cascade
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
comment on table unapplied_opt_outs is
  'opt-outs that a contact may not have yet: only the HMAC of the address was known. Campaigns compare their recipients with them';
comment on column unapplied_opt_outs.begins_at is 'the walk through the contacts takes it up from then on';
comment on column unapplied_opt_outs.lap is 'where the walk was when it took it up: a lap later at the same contact, all were looked at';
comment on column unapplied_opt_outs.applied_at is
  'no contact is subscribed against it since then. The row stays for a minute, for intents that have read the contact before';
create index unapplied_opt_outs_new on unapplied_opt_outs (brand_id, channel) where lap is null;
create index unapplied_opt_outs_applied on unapplied_opt_outs (applied_at) where applied_at is not null;

create table opt_out_walks (
  brand_id bigint not null references brands on delete cascade,
  channel text not null,
  lap integer not null default 0,
  after_id bigint not null default 0,
  due_at timestamptz not null default now(),
  failures smallint not null default 0,
  primary key (brand_id, channel)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
comment on table opt_out_walks is
  'brands whose contacts the worker compares with unapplied_opt_outs, page by page and round and round';
create index opt_out_walks_due on opt_out_walks (due_at);

-- Volatile: it sees what is committed when it is called, not only what its statement saw when it began.
create function find_unapplied_opt_outs(brand bigint, of_channel text) returns bytea[] language plpgsql as $$
begin
  return (
    select array_agg(u.address_hash) from unapplied_opt_outs u join opt_outs o using (brand_id, channel, address_hash)
    where u.brand_id = brand and u.channel = of_channel and o.ended_at is null);
end $$;
comment on function find_unapplied_opt_outs is 'HMACs of opt-outs that contacts of the brand may not have yet; null: there are none';
`;

export const down = `
drop function find_unapplied_opt_outs;
drop table opt_out_walks, unapplied_opt_outs;
`;
