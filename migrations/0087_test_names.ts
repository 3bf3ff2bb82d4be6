/** Limits the event names that test keys add, and gives old suppression releases an end. */
export const name = '0087_test_names';

export const up = `
alter table event_names add column by_test_key boolean not null default false;
comment on column event_names.by_test_key is 'whether a test key has added it: a brand has a hundred of these at most';

create index suppression_releases_ending on suppression_releases (created_at)
  where reason in ('manual', 'soft_bounce');
comment on table suppression_releases is
  'suppressions that clients have ended; kept, also after the address is suppressed again; housekeeping deletes those of manual and soft_bounce';

comment on column login_networks.network is 'an IPv4 address, or the /48 of an IPv6 address';
`;

export const down = `
comment on column login_networks.network is 'an IPv4 address, or the /64 of an IPv6 address';
comment on table suppression_releases is 'suppressions that clients have ended; kept, also after the address is suppressed again';
drop index suppression_releases_ending;
alter table event_names drop column by_test_key;
`;
