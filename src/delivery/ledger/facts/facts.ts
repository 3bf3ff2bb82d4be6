import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineFunction } from '../../../platform/db/sql/define.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import {
  type EventPublisher,
  type Publication,
  type QueuedWork,
  toEventRow,
} from '../../../platform/events/publish.ts';
import { markForRecountSql } from '../blocks/campaign-blocks.ts';
import { CONTACT_COUNTS, contactCtes, contactOfMessageSql } from '../effects/contact-effects.ts';
import { countOutcomesSql, leaveQueueSql } from '../effects/leave-queue.ts';
import { emailEventsOf } from '../../terms/events.ts';
import { countFlowMessagesSql } from '../effects/flow-counts.ts';
import { countStatsSql } from '../effects/stat-changes.ts';
import type { DeliveryFact } from './delivery-fact.ts';
import { applyFacts, type FactChange, type FactEvent, type ReportedMessage } from './fact-changes.ts';
import { lockMessages } from './reported-messages.ts';
import { limits } from '../limits/authority.ts';
import { messageClasses } from '../../terms/message.ts';
import { segmentsNowSql } from '../effects/rendered-segments.ts';
import { isPaidBySegment } from '../../terms/units.ts';
import { suppressionCtes } from '../consent/suppressions.ts';

/** The effects of recorded facts. */
export interface RecordedFacts {
  /** The work that events have queued. Wake its channels after the commit. */
  queued: QueuedWork;
  /** Number of facts that were believed and new. */
  recorded: number;
  /** The messages whose recipients opted out at the provider. The caller records the opt-outs. */
  optedOut: ReportedMessage[];
}

/** SQL: reports about addresses that follow from the changes. */
const addressReportsSql = `
    select u.account_id, u.to_key as address_key, u.channel, u.suppression as reason, u.provider as source_provider,
      case when u.suppression <> 'complaint' then u.bounce ->> 'diagnostic' end as diagnostic,
      u.suppressed_at as occurred_at, u.counted
    from updated u where u.suppression is not null`;

/** The function that writes the changes, and all that follows from them but the events. */
export const recordFactsFunction = defineFunction(import.meta.url, './record_facts.sql', {
  table: limits,
  regions: {
    contact: () => contactOfMessageSql,
    segments: () => segmentsNowSql('i.uncounted'),
    // The facts decide: see `fact-changes.ts`.
    stats: () =>
      countStatsSql('updated', {
        sent: 'u.sent_now',
        delivered: 'u.delivered_now',
        bounced: 'u.bounced_now',
        complained: 'u.complained_now',
      }),
    leave_queue: (table) =>
      leaveQueueSql('leaving', 'unsent', table, {
        cleared: 'unsent',
        // They are charged their whole reservation until their senders record how many segments were sent.
        unknown: 'array(select id from uncounted)',
      }),
    flow_counts: () => countFlowMessagesSql('updated'),
    marked_blocks: () =>
      markForRecountSql('select campaign_id, id from unnest(campaigns, tallied) as t (campaign_id, id)'),
    suppressions: () => suppressionCtes(addressReportsSql),
    contacts: () => contactCtes({ sentNow: 'sent_now', failedNow: 'coalesce(failed_now, false)' }),
    outcomes: () => countOutcomesSql({ sentNow: 'sent_now', attempted: 'sent_now', after: CONTACT_COUNTS }),
  },
});

const publishSql = ({ columns, interest, ctes, counts }: Publication): string => `
  with recorded as materialized (
    select ${recordFactsFunction.name}($1, $2, $3, $4, $5, $6, $7, $8) as yes
  ), new_events as materialized (
    select gen_random_uuid() as id, e.* from recorded cross join json_to_recordset($9) as e (${columns})
    where yes and ${interest('e.brand_id')}
  ), ${ctes}
  select ${counts} as counts from recorded`;

/** Writes what facts about locked messages change, and publishes their events. */
export const recordFactsStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'writeChanges',
  does: 'Writes what reports of providers change in messages that `lock_reported_messages` has locked, and all that follows.',
  parameters: [
    'json: the messages that change, with their new columns',
    'json: the rows of message_events',
    'bigint[]: the messages whose wait in the queue ends',
    'bigint[]: those of them that were not sent, and get back what they have reserved',
    'boolean: whether recipients may be contacts',
    'bigint[]: the messages of flows that change, or null',
    'boolean: whether a message is sent, fails, or is charged from now on or no longer',
    'boolean: whether addresses may be suppressed',
    'json: the events to publish',
  ],
  shapes: { record_facts: {} },
  version: 'hash',
  compose: (_shape, { publication }: EventPublisher) => publishSql(publication),
});

const publishedEvents = ({ message, published }: FactChange) =>
  published.flatMap(({ type, occurredAt, response }) =>
    emailEventsOf({ ...message, message, events: [type], response }, occurredAt),
  );

/**
 * Whether the message is charged from now on, but its sender has not recorded how many segments were sent. This is a
 * text that is rendered when it is sent, and whose report came before the record.
 */
const isUncounted = ({ message, sentNow, unsent }: FactChange) =>
  sentNow && !unsent && isPaidBySegment(message.channel) && message.class !== messageClasses.transactional;

/** A row of the function's `changes`. */
function changeRow(change: FactChange) {
  const { message, attempt, sentNow, failedNow, unsent, suppress, counted } = change;
  const { deliveredNow, firstBouncedAt, complainedAt } = change;
  const { messageId, status, provider, providerMessageId, sentAt, sentAttempt, deliveredAt } = message;
  const { response, failure, bounce } = message;
  return {
    messageId,
    status,
    attempt,
    provider,
    providerMessageId,
    sentAt,
    sentAttempt,
    deliveredAt,
    response,
    failure,
    bounce,
    ...(sentNow ? { sentNow } : {}),
    ...(suppress ? { suppress, counted, bouncedAt: message.bouncedAt } : {}),
    ...(deliveredNow ? { deliveredNow } : {}),
    ...(firstBouncedAt ? { firstBouncedAt } : {}),
    ...(complainedAt ? { complainedAt } : {}),
    ...(failedNow ? { failedNow } : {}),
    ...(unsent ? { unsent } : {}),
    ...(isUncounted(change) ? { uncounted: true } : {}),
  };
}

/** A message that is not recorded as sent yet has no contact, but may get one now. */
const mayConcernContact = ({ message, sentNow }: FactChange) =>
  message.contactId !== null || sentNow || message.class !== messageClasses.transactional;

const idsOf = (changes: readonly FactChange[]) => changes.map(({ message }) => message.messageId);

/** The parameters of {@link recordFactsStatement}. */
function parametersOf(changes: readonly FactChange[], stored: readonly FactEvent[]) {
  const settled = changes.filter((change) => change.settled);
  const ofFlows = idsOf(changes.filter(({ message }) => message.class === messageClasses.flow));
  return [
    JSON.stringify(changes.map(changeRow)),
    JSON.stringify(stored),
    idsOf(settled),
    idsOf(settled.filter(({ message }) => message.status === 'failed')),
    changes.some(mayConcernContact),
    ofFlows.length > 0 ? ofFlows : null,
    changes.some(({ sentNow, failedNow, unsent }) => sentNow || failedNow || unsent),
    changes.some(({ suppress }) => suppress !== null),
    JSON.stringify(changes.flatMap(publishedEvents).map(toEventRow)),
  ];
}

async function writeChanges(
  client: Queryable,
  changes: readonly FactChange[],
  events: EventPublisher,
): Promise<QueuedWork> {
  const changed = changes.filter((change) => change.changed);
  const stored = changes.flatMap((change) => change.stored);
  if (changed.length === 0 && stored.length === 0) return new Map();
  const { rows } = await client.query<{ counts: number[] }>({
    ...recordFactsStatement.prepared('record_facts', events),
    values: parametersOf(changed, stored),
  });
  return events.publication.queuedWork(rows[0]?.counts ?? []);
}

/**
 * Records reports about messages: states, events and the work that they queue, suppressions and counters, and the
 * removal of queue rows. Locks the messages first, so that each fact is judged by their current state. Facts may arrive
 * more than once, in any order, and before the hand-over is recorded; the first fact or record publishes `email.sent`
 * and counts the message.
 * @param client inside the caller's transaction
 * @param facts up to some hundreds; those of one message are applied in the order in which they happened
 */
export async function recordFacts(
  client: Queryable,
  facts: readonly DeliveryFact[],
  events: EventPublisher,
): Promise<RecordedFacts> {
  if (facts.length === 0) return { queued: new Map(), recorded: 0, optedOut: [] };
  const messages = await lockMessages(client, facts);
  const byMessage = Map.groupBy(facts, ({ messageId }) => messageId);
  const now = new Date();
  const changes = messages.map((message) => applyFacts(message, byMessage.get(message.messageId) ?? [], now));
  const queued = await writeChanges(client, changes, events);
  return {
    queued,
    recorded: changes.reduce((sum, change) => sum + change.recorded, 0),
    optedOut: changes.filter((change) => change.optedOut).map(({ message }) => message),
  };
}
