/**
 * Counts the outcomes of messages of flows, by flow and step. Statements that change messages have these parts only if
 * one of the messages is of a flow. A worker folds the rows into the counters of the flows, see
 * `features/flows/counts.ts`.
 */
import type { Queryable } from '../../../platform/db/queryable.ts';
import { isChannelSql } from '../../terms/channels/index.ts';
import type { MessageStatus } from '../../terms/message.ts';

/** Counts messages that their contact opened, or clicked a link in. */
export type FlowInteraction = 'opened' | 'clicked';

/** States that are counted under their names. A message that leaves the state no longer counts. */
const countedStatuses = [
  'bounced',
  'complained',
  'failed',
  'unknown',
  'skipped',
  'canceled',
] as const satisfies readonly MessageStatus[];

const statuses = countedStatuses.map((status) => `'${status}'`).join(', ');

/**
 * SQL for an update of messages: the columns of the message before the update, as `was_status` and so on. The message
 * is locked first, so that these values are current.
 * @param id SQL
 */
export const messageBeforeSql = (id: string): string => `cross join lateral (
      select o.status as was_status, o.sent_at as was_sent_at, o.delivered_at as was_delivered_at,
        o.bounce as was_bounce, o.segments as was_segments, o.unknown_at as was_unknown_at
      from messages o where o.id = ${id} for no key update) was`;

const hasRatesSql = isChannelSql('u.channel', ({ hasRates }) => hasRates);

/** SQL: 1 if the message counts in the rates of its flow because it was accepted, or bounced at hand-over; else 0. */
const attemptedSql = (prefix: string) =>
  `(${hasRatesSql} and (u.${prefix}sent_at is not null or u.${prefix}status = 'bounced'))::int`;

const hardSql = (prefix: string) =>
  `coalesce(${hasRatesSql} and u.${prefix}bounce ->> 'type' = 'hard', false)::int`;

/** SQL: 1 if another attempt, and not a report, has shown what became of a message that was unknown; else 0. */
const resentSql = `(u.was_status = 'unknown' and u.status <> 'unknown' and u.attempt_count > u.was_attempt_count)::int`;

const isSetSql = (column: string) => `(u.${column} is not null)::int`;

/**
 * SQL: an expression of a `with` clause, after a comma, that counts how messages of flows have changed.
 * @param changed SQL: the table of changed messages, with what {@link messageBeforeSql} returns
 * @param ofAttempts whether attempts have changed them; the table then has `was_attempt_count`, too
 */
export const countFlowMessagesSql = (
  changed: string,
  ofAttempts = false,
): string => `, flow_messages_counted as (
    insert into flow_count_changes (flow_id, step_id, name, change, at)
    select u.flow_id, coalesce(u.flow_step_id, 0), v.name, sum(v.change), coalesce(u.sent_at, u.updated_at)
    from ${changed} u cross join lateral (values
      ('sent', ${isSetSql('sent_at')} - ${isSetSql('was_sent_at')}),
      ('delivered', ${isSetSql('delivered_at')} - ${isSetSql('was_delivered_at')}),
      ('attempted', ${attemptedSql('')} - ${attemptedSql('was_')}),
      ('hard_bounced', ${hardSql('')} - ${hardSql('was_')}),${ofAttempts ? `\n      ('resent', ${resentSql}),` : ''}
      (u.status, (u.status in (${statuses}) and u.status <> u.was_status)::int),
      (u.was_status, -(u.was_status in (${statuses}) and u.status <> u.was_status)::int)) as v (name, change)
    where u.flow_id is not null and not u.test and v.change <> 0
    group by 1, 2, 3, 5
  )`;

/** Counts the first open and the first click, by a person, of messages of flows. */
export async function countFlowInteractions(
  trx: Queryable,
  interactions: readonly { messageId: number; name: FlowInteraction }[],
): Promise<void> {
  if (interactions.length === 0) return;
  const ids = interactions.map(({ messageId }) => messageId);
  await trx.query({
    name: 'count_flow_interactions',
    text: `
    insert into flow_count_changes (flow_id, step_id, name, change, at)
    select m.flow_id, coalesce(m.flow_step_id, 0), i.name, count(*), coalesce(m.sent_at, m.updated_at)
    from unnest($1::bigint[], $2::text[]) as i (message_id, name)
    cross join lateral (select * from messages m where m.id = i.message_id and m.id between $3 and $4 offset 0) m
    where m.flow_id is not null and not m.test group by 1, 2, 3, 5`,
    values: [ids, interactions.map(({ name }) => name), Math.min(...ids), Math.max(...ids)],
  });
}
