import { batchTask, daysBefore, type HousekeepingTask } from '../../platform/housekeeping/task.ts';
import type { Upkeep } from '../../platform/housekeeping/upkeep.ts';
import { RANGE_IDS } from '../../platform/db/id-ranges.ts';

const OUTCOME_DAYS = 8;
/** A soft bounce older than this is not consecutive with a new one. */
const SOFT_BOUNCE_DAYS = 90;
/** A message is written at most so many days before its last attempt, unless it was moved to a later time. */
const SCHEDULED_DAYS = 35;
/** The hour of the recount (UTC). */
const RECOUNT_HOUR = 3;

/** Deletes outcomes older than the period of the rates. */
const accountOutcomes = batchTask(
  'account_outcomes',
  `delete from account_outcomes where ctid = any (array(
     select ctid from account_outcomes where hour < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => daysBefore(asOf, OUTCOME_DAYS),
);

const softBounces = batchTask(
  'soft_bounces',
  `delete from soft_bounces where ctid = any (array(
     select ctid from soft_bounces where last_at < $1 limit $2 for update skip locked))`,
  (_deps, asOf) => daysBefore(asOf, SOFT_BOUNCE_DAYS),
);

/**
 * SQL: counts the messages that have a place in the allowance of the last 24 hours, and compares them with the buckets.
 *
 * Once a message has left the queue, its row no longer says which bucket its place is in. So `certain` counts the
 * messages that are young enough to have one, and `possible` also older ones whose outcome came within the 24 hours.
 * Any count between the two is right. Messages and buckets are read at one moment, and claims and records change them
 * together, so the difference may be added to a bucket whatever happens meanwhile.
 */
const RECOUNT = `
  with period as (
    select date_bin('10 minutes', $1::timestamptz - interval '24 hours', timestamptz '2000-01-01 00:00Z') as since
  ), running as materialized (
    select c.id from campaigns c, period
    where c.phase in ('snapshot', 'sending', 'done') and (c.finished_at is null or c.finished_at >= period.since)
  ), places as (
    select q.account_id, count(*) as certain, count(*) as possible from send_queue q, period
    where q.reserved_bucket >= period.since group by 1
    union all
    select b.account_id, sum(b.reserved), sum(b.reserved) from campaign_blocks b, period
    where b.reserved_bucket >= period.since and b.closed_at is null group by 1
    union all
    select m.account_id, count(*) filter (where coalesce(m.scheduled_at, m.created_at) >= period.since), count(*)
    from messages m, period
    where m.id >= $2 and not m.test and m.updated_at >= period.since
      and coalesce(m.scheduled_at, m.created_at) >= period.since - interval '73 hours'
      and (m.sent_at >= period.since
        or (m.sent_at is null and m.status in ('bounced', 'unknown', 'complained')))
      and not exists (select 1 from send_queue q where q.message_id = m.id)
      and (m.campaign_id is null or m.campaign_id not in (select id from running))
    group by 1
    union all
    -- Recipients of a campaign wait as long as it takes. Blocks that no sender has claimed have no places.
    select m.account_id, count(*) filter (where m.created_at >= period.since), count(*)
    from running r join campaign_blocks b on b.campaign_id = r.id and b.claim_epoch > 0
      join messages m on m.campaign_id = r.id and m.id between b.first_id and b.last_id
      cross join period
    where not m.test and m.updated_at >= period.since
      and (m.sent_at >= period.since
        or (m.sent_at is null and m.status in ('bounced', 'unknown', 'complained')))
      and not exists (select 1 from send_queue q where q.message_id = m.id)
    group by 1
  ), buckets as (
    select b.account_id, sum(b.used)::int as used, max(b.bucket) as last from allowance_buckets b, period
    where b.bucket >= period.since group by 1
  ), scheduled as (
    -- Messages may be written weeks before their time. Only accounts that seem to have used too much are searched.
    select u.account_id, s.certain, s.possible
    from buckets u left join (select account_id, sum(possible) as possible from places group by 1) p using (account_id)
    cross join lateral (
      select count(*) filter (where m.scheduled_at >= period.since) as certain, count(*) as possible
      from period, brands b join messages m on m.brand_id = b.id
      where b.account_id = u.account_id and m.id >= $3 and m.id < $2 and not m.test
        and m.updated_at >= period.since and m.scheduled_at >= period.since - interval '73 hours'
        and (m.sent_at >= period.since
          or (m.sent_at is null and m.status in ('bounced', 'unknown', 'complained')))
        and not exists (select 1 from send_queue q where q.message_id = m.id)) s
    where u.used > coalesce(p.possible, 0)
  ), counted as (
    select account_id, sum(certain)::int as certain, sum(possible)::int as possible
    from (select * from places union all select * from scheduled) found group by 1
  ), wrong as (
    select account_id, coalesce(used, 0) as used, coalesce(b.last, period.since) as bucket,
      least(greatest(coalesce(used, 0), coalesce(certain, 0)), coalesce(possible, 0)) as right_count
    from counted full join buckets b using (account_id) cross join period
  ), excess as (
    -- Places are taken away from the oldest buckets first.
    select b.account_id, b.bucket, least(b.used, greatest(0, w.used - w.right_count - coalesce(sum(b.used) over (
      partition by b.account_id order by b.bucket rows between unbounded preceding and 1 preceding), 0))) as surplus
    from wrong w join allowance_buckets b using (account_id) cross join period
    where w.used > w.right_count and b.bucket >= period.since
  ), changes as (
    select account_id, bucket, -surplus as change from excess where surplus > 0
    union all select account_id, bucket, right_count - used from wrong where right_count > used
  ), locked as (
    select b.account_id, b.bucket from allowance_buckets b join changes using (account_id, bucket)
    order by b.account_id, b.bucket for update of b
  ), corrected as (
    update allowance_buckets b set used = greatest(0, b.used + c.change)
    from changes c join locked using (account_id, bucket)
    where b.account_id = c.account_id and b.bucket = c.bucket
  ), added as (
    insert into allowance_buckets as b (account_id, bucket, used)
    select account_id, bucket, change from changes
    where change > 0 and (account_id, bucket) not in (select account_id, bucket from locked) order by 1, 2
    on conflict (account_id, bucket) do update set used = b.used + excluded.used
  )
  select account_id, used, right_count from wrong where used <> right_count order by account_id`;

/** Recounts the allowance of all accounts once a night, and corrects buckets that disagree with the messages. */
const allowanceRecount: HousekeepingTask = {
  name: 'allowance_recount',
  async run({ database: { pool }, log }, asOf) {
    if (asOf.getUTCHours() !== RECOUNT_HOUR) return 0;
    const { rows: ranges } = await pool.query<{ first: number; first_scheduled: number }>(
      `select coalesce(min(n) filter (where closed_at is null or closed_at >= $1::timestamptz - interval '5 days'), 0)
         * ${RANGE_IDS}::bigint as first, coalesce(min(n), 0) * ${RANGE_IDS}::bigint as first_scheduled
       from message_ranges where closed_at is null or closed_at >= $1::timestamptz - make_interval(days => $2)`,
      [asOf, SCHEDULED_DAYS],
    );
    const { first = 0, first_scheduled: firstScheduled = 0 } = ranges[0] ?? {};
    const { rows } = await pool.query<{ account_id: number; used: number; right_count: number }>(RECOUNT, [
      asOf,
      first,
      firstScheduled,
    ]);
    for (const { account_id, used, right_count: counted } of rows) {
      log.warn({ account_id, used, counted }, 'allowance corrected');
    }
    return rows.length;
  },
};

export const brakesUpkeep: Upkeep = { tasks: [accountOutcomes, softBounces, allowanceRecount] };
