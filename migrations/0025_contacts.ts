/** Consent over time, and the work left after a contact is deleted. */
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

create table contact_removals (
  id bigint generated always as identity primary key,
  account_id bigint not null,
  brand_id bigint not null,
  contact_id bigint not null,
  addresses jsonb not null,
  requested_at timestamptz not null default now(),
  due_at timestamptz not null default now(),
  step smallint not null default 0,
  after_id bigint not null default 0,
  waiting boolean not null default true,
  failures smallint not null default 0
);
comment on table contact_removals is
  'deleted contacts whose events and messages are still to be cleared; the row goes when that is done';
comment on column contact_removals.addresses is 'the address keys, each with the time up to which messages to it are the contact''s';
comment on column contact_removals.waiting is 'whether it must be gone through once more: something may have been written meanwhile';
comment on column contact_removals.due_at is 'the row waits its turn until then: each page moves it behind the others';
comment on column contact_removals.failures is 'pages in a row that failed';
create index contact_removals_due on contact_removals (due_at);

create table cleared_messages (
  removal_id bigint not null references contact_removals on delete cascade,
  message_id bigint not null,
  primary key (removal_id, message_id)
);
comment on table cleared_messages is
  'messages of deleted contacts that are cleared once more in the next pass: a fetch or an outcome may have been written at the same time';
`;

export const down = `
drop table cleared_messages, contact_removals, contact_former_addresses, contact_subscriptions;
`;
