/** Consent over time, and what is left to do when a contact is deleted. */
export const name = '0025_contacts';

export const up = `
create table contact_subscriptions (
  id bigint generated always as identity primary key,
  contact_id bigint not null references contacts on delete cascade,
  channel text not null check (channel in ('email', 'sms')),
  subscribed boolean not null,
  source text,
  created_at timestamptz not null default now()
);
comment on table contact_subscriptions is
  'changes of subscriptions. A channel that never changed has no row: its opt-in is in the contact';
create index contact_subscriptions_contact on contact_subscriptions (contact_id, created_at);

create table contact_former_addresses (
  contact_id bigint not null references contacts on delete cascade,
  address_key text not null,
  replaced_at timestamptz not null default now(),
  primary key (contact_id, address_key)
);
comment on table contact_former_addresses is
  'addresses that a contact had before: messages to them are the contact''s, and are cleared with it';
create index contact_former_addresses_key on contact_former_addresses (address_key);
`;

export const down = `
drop table contact_former_addresses, contact_subscriptions;
`;
