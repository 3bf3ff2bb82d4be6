/** Ended sessions, the contacts whose data are in export files, and the senders of mail to the operator. */
export const name = '0079_erasures';

export const up = `
create table ended_sessions (
  token_id text primary key,
  expires_at timestamptz not null
);
create index ended_sessions_expiring on ended_sessions (expires_at);
comment on table ended_sessions is 'session tokens that were ended before they expire; housekeeping deletes the rest';

alter table export_parts add column holds bytea;
alter table export_parts alter column holds set storage external;
comment on column export_parts.holds is
  'hashes of the contacts or addresses in the file, 8 bytes each; null: not known, or the file names none';

alter table operator_mails add column network text;
create index operator_mails_network on operator_mails (network, id);
comment on table operator_mails is
  'mail to fbl@, abuse@ and postmaster@ for a person to read, of 30 days; a network has a few of them';
comment on column operator_mails.network is 'of the client: an IPv4 address or an IPv6 /48; null: not recorded';
`;

export const down = `
drop index operator_mails_network;
alter table operator_mails drop column network;
alter table export_parts drop column holds;
drop table ended_sessions;
`;
