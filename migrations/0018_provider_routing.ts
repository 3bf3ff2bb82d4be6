/** Each named provider has its own share of the queue, and accounts may have an order of providers to fail over to. */
export const name = '0018_provider_routing';

export const up = `
update send_queue set provider_id = 0 where provider_id is null;
alter table send_queue alter column provider_id set default 0, alter column provider_id set not null;
comment on column send_queue.provider_id is
  'the named provider that sends the message; 0: the one of EMAIL_PROVIDER_URL or SMS_PROVIDER_URL';
drop index send_queue_due;
create index send_queue_due on send_queue (channel, class, account_id, provider_id, due_at, message_id)
  where owner is null;

alter table held_backlogs add column provider_id bigint not null default 0;
alter table held_backlogs drop constraint held_backlogs_pkey, add primary key (account_id, channel, class, provider_id);
comment on table held_backlogs is 'a row for each account, channel, class and provider with held messages';

alter table handovers add column report_seconds integer not null default 0;
comment on column handovers.report_seconds is
  'if the sender dies: how long a message waits for a report before it is handed over again';

alter table accounts add column email_provider_ids bigint[], add column sms_provider_ids bigint[];
comment on column accounts.email_provider_ids is
  'named providers in the order in which they are used if one fails; 0: that of the settings; null: no fail-over';

create table provider_outages (
  channel text not null,
  provider_id bigint not null,
  since timestamptz not null,
  retry_at timestamptz not null,
  primary key (channel, provider_id)
);
comment on table provider_outages is
  'providers whose breaker has been open for a minute; messages of accounts with a further provider go there';
comment on column provider_outages.retry_at is 'from when on one message a second is accepted for it, as a test';

create function choose_provider(of_channel text, wanted bigint, further bigint[]) returns bigint
language plpgsql as $$
declare
  candidate bigint;
  first_usable bigint;
begin
  foreach candidate in array case when wanted is null then further else wanted || further end loop
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

export const down = `
drop function choose_provider;
drop table provider_outages;
alter table accounts drop column email_provider_ids, drop column sms_provider_ids;
alter table handovers drop column report_seconds;
delete from held_backlogs h where provider_id <> 0 and exists (
  select 1 from held_backlogs o
  where o.account_id = h.account_id and o.channel = h.channel and o.class = h.class and o.provider_id < h.provider_id);
alter table held_backlogs drop constraint held_backlogs_pkey;
alter table held_backlogs drop column provider_id, add primary key (account_id, channel, class);
drop index send_queue_due;
create index send_queue_due on send_queue (channel, class, account_id, due_at, message_id) where owner is null;
alter table send_queue alter column provider_id drop not null, alter column provider_id drop default;
update send_queue set provider_id = null where provider_id = 0;
`;
