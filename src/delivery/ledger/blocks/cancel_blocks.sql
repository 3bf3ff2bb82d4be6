-- Cancels recipients of a canceled campaign who wait for their first attempt, unless an intent covers them: those of the
-- first blocks that have some. Returns these blocks, at most 1,000 because blocks of a throttled campaign are small.
--
-- sent by: cancelCampaignMessages
-- $1 bigint: the campaign
-- $2 bigint: roughly how many recipients
-- locks: messages by id
with first as materialized (
  select n, first_id, last_id, size from campaign_blocks b
  where campaign_id = $1 and closed_at is null and exists (
    select 1 from messages m
    where m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id and m.status in ('queued', 'held')
      and not
        -- <intended>
        exists (select 1 from (
          select h.* from (
            select q.owner from send_queue q where q.message_id = m.id
            union all
            select b.owner from (
              select owner, first_id from campaign_blocks
              where campaign_id = m.campaign_id and last_id >= m.id order by campaign_id, last_id limit 1) b
            where b.first_id <= m.id) o join handovers h on h.owner = o.owner
          where m.id = any(h.message_ids)) h)
        -- </intended>
    )
  order by n limit 1000
), blocks as materialized (
  select n, first_id, last_id from (
    select n, first_id, last_id, sum(size) over (order by n) - size as before from first) f
  where before < $2
), locked as materialized (
  select m.id from messages m join blocks b on m.id between b.first_id and b.last_id
  where m.campaign_id = $1 and m.status in ('queued', 'held') and not
    -- <intended>
    exists (select 1 from (
      select h.* from (
        select q.owner from send_queue q where q.message_id = m.id
        union all
        select b.owner from (
          select owner, first_id from campaign_blocks
          where campaign_id = m.campaign_id and last_id >= m.id order by campaign_id, last_id limit 1) b
        where b.first_id <= m.id) o join handovers h on h.owner = o.owner
      where m.id = any(h.message_ids)) h)
    -- </intended>
  order by m.id for no key update of m
), updated as (
  update messages m set status = 'canceled', hold = null, updated_at = now(),
    failure = jsonb_build_object('code', 'canceled', 'message', 'the campaign was canceled')
  from locked l where m.id = l.id returning m.id
)
select (select count(*)::int from updated) as count, array(select n from blocks) as blocks
