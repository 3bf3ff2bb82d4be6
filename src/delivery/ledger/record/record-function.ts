/** The function that records the outcomes of batches, and the statement that calls it and publishes their events. */
import { defineFunction } from '../../../platform/db/sql/define.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import type { Publication } from '../../../platform/events/publish.ts';
import {
  blocksOfSql,
  changedBlocksSql,
  isDividedSql,
  unknownOfBlocksSql,
} from '../blocks/campaign-blocks.ts';
import { suppressionCtes } from '../consent/suppressions.ts';
import {
  contactCtes,
  contactOfEmailSql,
  contactOfMessageSql,
  countSentContactsSql,
  sentContactsSql,
} from '../effects/contact-effects.ts';
import { countFlowMessagesSql } from '../effects/flow-counts.ts';
import { countByHourSql, countSentByHourSql, hasRatesSql, leaveQueueSql } from '../effects/leave-queue.ts';
import { reservedSegmentsSql } from '../effects/rendered-segments.ts';
import { countSentStatsSql, countStatsSql } from '../effects/stat-changes.ts';
import { captureCtes, limits, type Limits } from '../limits/authority.ts';
import { countSentUsageSql, countUsageSql, monthSql } from '../money/usage.ts';
import { emailEvents } from '../../terms/events.ts';
import { messageClasses, messageStatuses, statesBefore, statusList } from '../../terms/message.ts';
import { byUnitSql, paidBySegmentSql } from '../../terms/units.ts';

/** SQL over a message `m`: the states from which it may pass to that of the outcome, by the table of states. */
const transitionsSql = messageStatuses
  .map((status) => `when '${status}' then m.status in (${statusList(statesBefore(status))})`)
  .join('\n');

/** SQL: reports about addresses. `updated` are the messages that have bounced softly. */
const addressReportsSql = `
    select (i.o ->> 'accountId')::bigint as account_id, i.o ->> 'addressKey' as address_key, i.o ->> 'channel' as channel,
      'hard_bounce' as reason, i.provider as source_provider, i.o -> 'bounce' ->> 'diagnostic' as diagnostic,
      now() as occurred_at, true as counted
    from unnest(ids, providers, others) as i (id, provider, o) where i.o ? 'suppress' and not was_sent(i.id)
    union all
    select u.account_id, u.to_key, u.channel, 'soft_bounce', u.provider, u.diagnostic, now(), true
    from updated u`;

/**
 * SQL over the block `b`: what those of its batches have used whose intents the function has ended.
 * @param sum SQL over the batches `t` and the joined tables
 */
const usedOfBatches = (sum: string, join = ''): string => `(
      select ${sum} from batches t join intents e on e.owner = t.owner and e.seq = t.seq ${join || 'where'}
      t.campaign_id = b.campaign_id and t.n = b.n)`;

/**
 * SQL over the block `b`: how many emails of its batches are charged. A report that came before the record may have
 * shown that an email was not sent; the block returns its price when it is closed.
 */
const chargedSql = `greatest(0, ${usedOfBatches('coalesce(sum(t.charged), 0)::int')}
        - (select count(*)::int from uncharged u where u.campaign_id = b.campaign_id and u.n = b.n))`;

/** SQL: the blocks of the batches, and those of changed messages that are not in them any more. */
const changedSql = `${blocksOfSql('select campaign_id, id from updated')}
      union all select campaign_id, n from batches`;

/** SQL over the block `b` and the outcome `i` of a text: the most segments that its version may take. */
const segmentsSql = `coalesce((b.price_list -> i.id::text ->> 1)::smallint, (
        select v.segments from campaigns c join template_versions v on v.id = c.version_ids[b.variant + 1]
        where c.id = b.campaign_id))`;

const withoutMoney = (table: Limits): Limits => table.filter(({ refusal }) => !refusal);

/** Whether a limit uses up what sent messages have reserved. Without one, most queue rows can be removed at once. */
const usesUp = (table: Limits): boolean => captureCtes('removed', table).length > 0;

/** What `record_outcomes.sql` takes from the tables of limits, channels and states, and from the effects. */
const regions = {
  plain_rows: (table: Limits) =>
    usesUp(table)
      ? `with started as (select) ${leaveQueueSql('ids', `'{}'`, table)} select true into is_done;`
      : 'delete from send_queue where message_id = any(ids);',
  contact_of_email: () => contactOfEmailSql,
  sent_usage: () => `${countSentUsageSql('of_accounts')};`,
  sent_stats: () => `${countSentStatsSql('of_accounts', 'brands')};`,
  sent_contacts: () => sentContactsSql('contacts_of'),
  contacts_sent_to: () => countSentContactsSql('changed', 'brands', 'contacts_of'),
  sent_outcomes: () => `${countSentByHourSql('of_accounts')};`,
  reserved_segments: () => reservedSegmentsSql,
  captured: (table: Limits) => (usesUp(table) ? 'settles := true;' : ''),
  contact: () => contactOfMessageSql,
  transitions: () => transitionsSql,
  usage: () => countUsageSql('updated', 'm.first_sent'),
  stats: () =>
    countStatsSql('updated', {
      sent: 'u.sent_at = u.updated_at',
      delivered: 'u.delivered_at = u.updated_at',
      bounced: 'u.bounced_at = u.updated_at',
    }),
  has_rates: () => hasRatesSql('channel'),
  month: () => monthSql('coalesce(t.unknown_at, t.sent_at)'),
  paid_by_segment: () => paidBySegmentSql('t.channel'),
  leave_queue: (table: Limits) =>
    leaveQueueSql('leaving', 'given_back', table, {
      unknown: 'array(select id from unknowns)',
      kept: `select id as message_id, (o ->> 'keep')::int as keep from unnest(ids, others) as i (id, o) where o ? 'keep'`,
      cleared: 'cleared',
      lowered: 'select id, segments from unnest(lowered_ids, lowered_segments) as l (id, segments)',
    }),
  leave_unpriced: (table: Limits) => leaveQueueSql('leaving', 'given_back', withoutMoney(table)),
  flow_counts: () => countFlowMessagesSql('updated', true),
  is_divided: () => isDividedSql,
  changed_blocks: () =>
    changedBlocksSql(changedSql, {
      places: usedOfBatches('coalesce(sum(t.used), 0)::int'),
      attempted: usedOfBatches('coalesce(sum(t.attempted), 0)::int'),
      emails: chargedSql,
      texts: usedOfBatches(
        'jsonb_object_agg(x.key, x.value)',
        `cross join lateral jsonb_each(t.texts) x where (x.key::bigint in (select id from uncharged)) is not true and`,
      ),
    }),
  unknown_of_blocks: () => unknownOfBlocksSql('select campaign_id, n, id from unknowns'),
  campaign_class: () => `${messageClasses.campaign}`,
  retry_price: () => `
      case when p.charged then 0 when ${paidBySegmentSql('b.channel')} then ${segmentsSql} end,
      ${byUnitSql('b.channel', { message: null, segment: '(select phone_country(m.to_key) from messages m where m.id = i.id)' })}`,
  suppressions: () => suppressionCtes(addressReportsSql),
  contacts: () => contactCtes({ sentNow: 'u.first_sent', failedNow: 'not u.first_sent' }),
  account_outcomes: () => countByHourSql('select * from outcomes'),
};

const table: Limits = limits;

/** Everything that follows from the outcomes of batches, but for their events. */
export const recordOutcomes = defineFunction(import.meta.url, './record_outcomes.sql', {
  table,
  regions,
});

/** What the statement depends on besides its shape. */
export interface RecordingParts {
  publication: Publication;
  /** The name under which the function is installed; by default that of {@link recordOutcomes}. */
  functionName?: string;
}

const callSql = ({ functionName = recordOutcomes.name }: RecordingParts) =>
  `${functionName}($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;

const publishedSql = (parts: RecordingParts, { publication } = parts): string => `
    with recorded as materialized (
      select * from ${callSql(parts)}
    ), new_events as materialized (
      select gen_random_uuid() as id, e.*
      from recorded r cross join json_to_recordset($12) as e (message_id bigint, ${publication.columns})
      where e.message_id <> all(r.silent)
        and (e.type <> '${emailEvents.sent.type}' or e.message_id <> all(r.sent_before))
        and ${publication.interest('e.brand_id', 'e.type')}
    ), ${publication.ctes}
    select ${publication.counts} as counts, array(select distinct brand_id from new_events) as wanted from recorded`;

export const recordStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'recordOnce',
  does: 'Records what became of batches that were given to providers, and publishes the events that follow from it.',
  parameters: [
    'bigint[]: the processes whose intents end',
    'bigint[]: and the numbers of these intents',
    'bigint[]: the messages, in their order',
    'smallint[]: the attempt of each',
    'text[]: its new state, or null',
    'text[]: the provider, or null',
    'text[]: the id that the provider gave it, or null',
    'text[]: the response of the provider, or null',
    'boolean: whether recipients may be contacts',
    'jsonb[]: what else there is to say about each; null for emails that were accepted and have left the queue',
    'jsonb: the blocks of the batches, with what each batch has used of its block; null if there are none',
    'json: the events of the messages or, if probably no consumer wants them, the brands',
  ],
  shapes: {
    record_batches: { publishes: false },
    record_and_publish_batches: { publishes: true },
  },
  when: {
    record_batches:
      'emails that were accepted, whose events no consumer wants; if one does, nothing is recorded',
    record_and_publish_batches: 'messages whose events a consumer may want',
  },
  version: 'hash',
  compose: ({ publishes }: { publishes: boolean }, parts: RecordingParts) =>
    publishes
      ? publishedSql(parts)
      : `
    select ${callSql(parts)} is not null as recorded
    where not exists (select 1 from (select value::bigint as id from json_array_elements_text($12)) b where ${parts.publication.interest('b.id', `'${emailEvents.sent.type}'`)})`,
});
