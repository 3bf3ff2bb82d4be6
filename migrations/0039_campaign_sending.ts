import { holdMessagesSql, OPEN } from './0011_message_ranges.ts';

/**
 * Intents for blocks of campaigns, retries of campaigns in the queue, and the lock with which a pause waits for
 * intents.
 */
export const name = '0039_campaign_sending';

export const up = `
alter table handovers add column campaign_id bigint, add column block_n integer, add column block_epoch integer;
comment on column handovers.block_n is
  'the block of campaign_id that the messages lie in, with its claim_epoch; null: the messages have queue rows';

alter table send_queue add column campaign_id bigint;
comment on column send_queue.campaign_id is
  'of a campaign''s message that is tried again; first attempts are made from campaign_blocks, without a row here';
create index send_queue_campaign on send_queue (campaign_id) where campaign_id is not null;

create index campaigns_sending on campaigns (account_id, id) where status = 'active' and phase in ('snapshot', 'sending');

-- See accounts_to_send: the same for campaigns. An intent locks its accounts first.
create function campaigns_to_send(ids bigint[])
returns table (id bigint, name text, status text, phase text, version_ids bigint[]) language plpgsql rows 5 as $$
begin
  perform pg_advisory_xact_lock_shared(1129468236, lock)
  from (select distinct (u.id % 2147483647)::int as lock from unnest(ids) as u (id) order by 1) locks;
  return query select c.id, coalesce(c.sent_name, c.name),
    -- Content that was changed waits for its approval.
    case when c.status = 'active' and c.approval_state = 'pending' then 'paused' else c.status end, c.phase, c.version_ids
  from campaigns c where c.id = any(ids);
end $$;
comment on function campaigns_to_send is
  'the campaigns of messages that are about to be sent; until the transaction ends, no pause or cancellation of them is confirmed';

create function stop_campaign_intents(campaign bigint) returns void language sql as $$
  select pg_advisory_xact_lock(1129468236, (campaign % 2147483647)::int)
$$;
comment on function stop_campaign_intents is
  'waits until no intent of the campaign is under way; until the transaction ends, no other begins';

-- A recipient of a campaign whose outcome is unknown stays so while another attempt waits.
${holdMessagesSql(`${OPEN} and (m.status <> 'unknown' or m.class <> 2)`)}

-- Volatile: each call sees what is committed, not only what its statement saw when it began.
create function is_subscribed(contact bigint, of_channel text) returns boolean language plpgsql as $$
begin
  return exists (
    select 1 from contacts c where c.id = contact
      and case of_channel when 'email' then c.email_subscribed else c.phone_subscribed end);
end $$;
`;

export const down = `
${holdMessagesSql(OPEN)}
drop function is_subscribed, stop_campaign_intents, campaigns_to_send;
drop index campaigns_sending;
drop index send_queue_campaign;
alter table send_queue drop column campaign_id;
alter table handovers drop column campaign_id, drop column block_n, drop column block_epoch;
`;
