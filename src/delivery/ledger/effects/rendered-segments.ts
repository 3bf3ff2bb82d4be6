/**
 * The segments of texts that are rendered when they are sent. Such a text is charged what it has reserved, the most
 * segments that its content may take, until a sender records how many a provider has accepted (reports of providers do
 * not say). Each record with fewer segments lowers the number, so that the charge, the usage and the returned
 * reservation agree.
 */
import { paidBySegmentSql } from '../../terms/units.ts';

/**
 * SQL over a text `m` of a campaign or flow: the segments that it has reserved, which are the most that its content may
 * take.
 */
export const reservedSegmentsSql = `coalesce(
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
  `coalesce(least(m.segments, ${rendered}), case when ${paidBySegmentSql('m.channel')} and ${isUncounted} then ${reservedSegmentsSql} end)`;
