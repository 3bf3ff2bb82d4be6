/** What providers say about domains, what Carillon registered with them, and which accounts may use a provider. */
export const name = '0030_provider_registrations';

/** @param alone SQL: whether no other provider may send a message that wants `wanted` */
const chooseProvider = (alone: string) => `
create or replace function choose_provider(of_channel text, wanted bigint, further bigint[]) returns bigint
language plpgsql as $$
declare
  candidate bigint;
  first_usable bigint;
begin
  foreach candidate in array
    case when wanted is null then further when ${alone} then array[wanted] else wanted || further end
  loop
    continue when candidate <> 0 and not exists (
      select from providers where id = candidate and channel = of_channel and removed_at is null);
    first_usable := coalesce(first_usable, candidate);
    if not exists (select from provider_outages where channel = of_channel and provider_id = candidate) then
      return candidate;
    end if;
    -- Skips a row that is locked: another request sends the test.
    update provider_outages set retry_at = now() + interval '1 second'
    where (channel, provider_id) in (
      select channel, provider_id from provider_outages
      where channel = of_channel and provider_id = candidate and retry_at <= now() for update skip locked);
    if found then
      return candidate;
    end if;
  end loop;
  return coalesce(first_usable, 0);
end $$;
`;

export const up = `
alter table domains add column provider_error text;
comment on column domains.provider_error is
  'why the service of the provider refuses the domain, for the client; null: it does not';

alter table providers add column account_ids bigint[];
comment on column providers.account_ids is 'the accounts whose domains may name the provider; null: all';

create table provider_registrations (
  domain_id bigint primary key,
  account_id bigint not null references accounts on delete cascade,
  provider_id bigint not null references providers,
  name text not null,
  creating boolean not null default false,
  created boolean not null default false,
  proved boolean not null default false,
  deleted_at timestamptz,
  created_at timestamptz not null default now()
);
comment on table provider_registrations is
  'domains that were to be registered with a named provider; a row outlives its domain by a day, which bounds new names';
comment on column provider_registrations.creating is
  'the service did not know the domain, and Carillon has told it to register it, but has not noted the response';
comment on column provider_registrations.created is
  'Carillon made the registration at the service, so it is removed there with the last domain of the name';
comment on column provider_registrations.proved is 'the domain was verified at some time before it was deleted';
comment on column provider_registrations.deleted_at is 'when the domain was deleted';
create index provider_registrations_name on provider_registrations (name);
create index provider_registrations_account on provider_registrations (account_id);
create index provider_registrations_deleted on provider_registrations (deleted_at) where deleted_at is not null;
insert into provider_registrations (domain_id, account_id, provider_id, name)
select id, account_id, provider_id, name from domains where provider_id is not null;
create index domains_of_provider on domains (provider_id, name) where provider_id is not null;
${chooseProvider(`of_channel = 'sms' and exists (select from providers where id = wanted and removed_at is null)`)}`;

export const down = `
drop index domains_of_provider;
drop table provider_registrations;
alter table providers drop column account_ids;
alter table domains drop column provider_error;
${chooseProvider('false')}`;
