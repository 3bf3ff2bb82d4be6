/** The networks from which users log in. Failed logins from other networks do not lock a user out of these. */
export const name = '0077_login_networks';

export const up = `
create table login_networks (
  user_id bigint not null references users on delete cascade,
  network text not null,
  logged_in_at timestamptz not null default now(),
  primary key (user_id, network)
);
create index login_networks_age on login_networks (logged_in_at);
comment on table login_networks is 'networks from which a user has logged in within 30 days; housekeeping deletes older ones';
comment on column login_networks.network is 'an IPv4 address, or the /64 of an IPv6 address';
`;

export const down = `
drop table login_networks;
`;
