/**
 * The segments of texts that are rendered when they are sent. Such a text is charged what it has reserved, the most
 * segments that its content may take, until a sender records how many a provider has accepted (reports of providers do
 * not say). Each record with fewer segments lowers the number, so that the charge, the usage and the returned
 * reservation agree.
 */
import { messageBeforeSql } from './flow-counts.ts';
import { paidBySegmentSql } from '../../terms/units.ts';
import { monthSql } from '../money/usage.ts';

/**
 * SQL over a text `m` of a campaign or flow: the segments that it has reserved, which are the most that its content may
 * take.
 */
const reservedSql = `coalesce(
        (select nullif(q.price_units, 0) from send_queue q where q.message_id = m.id),
        (select (b.price_list -> m.id::text ->> 1)::smallint from (
          select price_list, first_id from campaign_blocks
          where campaign_id = m.campaign_id and last_id >= m.id order by campaign_id, last_id limit 1) b
          where b.first_id <= m.id),
        (select v.segments from template_versions v where v.id = m.content_version_id))`;

/**
 * SQL: the segments of an updated message `m`.
 * @param isUncounted SQL: the message is charged, but the number of segments sent is not known
 * @param rendered SQL: the segments of its text if a provider has accepted it, else null
 */
export const segmentsNowSql = (isUncounted: string, rendered = 'null::smallint'): string =>
  `coalesce(least(m.segments, ${rendered}), case when ${paidBySegmentSql('m.channel')} and ${isUncounted} then ${reservedSql} end)`;

/**
 * SQL: applies the segments in records of texts. `late_segments` updates the messages in `input` that `updated` does
 * not change because a report or another attempt came first. `known_segments` are all texts charged so far, some of
 * them too much; the usage of their months is corrected. Needs {@link messageBeforeSql} in `updated`.
 */
export const knownSegmentsSql = `, late_segments as (
    update messages m set segments = i.segments from input i ${messageBeforeSql('i."messageId"')}
    where m.id = i."messageId" and i.segments is not null and (m.segments is null or m.segments > i.segments)
      and m.id <> all(array(select id from updated))
    returning m.*, was.*
  ), known_segments as materialized (
    select id, account_id, segments, was_segments, ${monthSql('coalesce(unknown_at, sent_at)')} as month, test
    from (
      select id, account_id, channel, test, segments, sent_at, unknown_at, unsent_at, was_segments, was_sent_at, was_unknown_at
      from updated
      union all
      select id, account_id, channel, test, segments, sent_at, unknown_at, unsent_at, was_segments, was_sent_at, was_unknown_at
      from late_segments) t
    where ${paidBySegmentSql('channel')} and unsent_at is null and (was_sent_at is not null or was_unknown_at is not null)
  ), segments_counted as (
    insert into usage_changes (account_id, month, sms_used)
    select account_id, month, sum(segments - coalesce(was_segments, 1)) from known_segments
    where not test and segments <> coalesce(was_segments, 1) group by 1, 2
  )`;
