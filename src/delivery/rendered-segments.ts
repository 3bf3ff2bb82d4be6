/**
 * The segments of texts that are rendered when they are sent. They are written once, with the first outcome that is
 * charged, so that what a message is charged, what it counts as and what it gives back are the same.
 */
import { monthSql } from './usage.ts';

/** SQL over a text `m` of a campaign or flow: the segments that it has reserved, the most that its content may take. */
const reservedSql = `coalesce(
        (select nullif(q.price_units, 0) from send_queue q where q.message_id = m.id),
        (select (b.price_list -> m.id::text ->> 1)::smallint from (
          select price_list, first_id from campaign_blocks
          where campaign_id = m.campaign_id and last_id >= m.id order by campaign_id, last_id limit 1) b
          where b.first_id <= m.id),
        (select v.segments from template_versions v where v.id = m.content_version_id))`;

/**
 * SQL: the segments of an updated message `m`. Without a known outcome, it is charged what it has reserved.
 * @param status SQL: the state that it gets
 * @param rendered SQL: the segments of its text if a provider has accepted it, else null
 */
export const segmentsNowSql = (status: string, rendered: string): string =>
  `coalesce(m.segments, ${rendered}, case when ${status} = 'unknown' and m.channel = 'sms' then ${reservedSql} end)`;

/** SQL: writes segments of messages of which a report has come before the outcome, and has counted one segment. */
const countLateSql = (late: string): string => `, late_segments as (${late}
    returning m.*
  ), late_usage as (
    insert into usage_changes (account_id, month, sms_used)
    select account_id, ${monthSql('coalesce(unknown_at, sent_at)')}, sum(segments - 1)
    from late_segments
    where segments > 1 and not test and unsent_at is null and coalesce(unknown_at, sent_at) is not null
    group by 1, 2
  )`;

/** SQL: the segments of messages in `input` that `updated` leaves as they are: a report of the message has come before. */
export const lateSegmentsSql = countLateSql(`
    update messages m set segments = i.segments from input i
    where m.id = i."messageId" and i.segments is not null and m.segments is null
      and m.id <> all(array(select id from updated))`);

/** SQL: the segments of messages in `reported`, of which no outcome will come. They are charged what they have reserved. */
export const reportedSegmentsSql = countLateSql(`
    update messages m set segments = ${reservedSql} from reported r
    where m.id = r.id and m.channel = 'sms' and m.segments is null`);
