-- Queues once more a page of the recipients of a campaign that are `unknown`. They stay `unknown` until they have an
-- outcome.
--
-- sent by: requeueUnknown
-- $1 bigint: the campaign
-- $2 bigint: how many
-- locks: nothing but the new rows of send_queue, by message
insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, attempt_count, domain_id,
  provider_id, campaign_id, price_month, price_millicents, price_units)
-- They are charged already.
select m.id, m.account_id, m.channel, m.class, now(), now(), m.attempt_count, b.domain_id, b.provider_id, b.campaign_id,
  current_month(), 0, 0
from campaign_blocks b cross join lateral (
  select * from messages m
  where m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id and m.status = 'unknown'
    and m.sent_at is null) m
where b.campaign_id = $1 and (b.unknown > 0 or b.recount or b.closed_at is null)
  and not exists (select 1 from send_queue q where q.message_id = m.id)
order by m.id limit $2
on conflict do nothing
