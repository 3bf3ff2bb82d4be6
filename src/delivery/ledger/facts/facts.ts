import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import {
  type EventPublisher,
  type Publication,
  type QueuedWork,
  toEventRow,
} from '../../../platform/events/publish.ts';
import { markForRecountSql } from '../blocks/campaign-blocks.ts';
import { CONTACT_COUNTS, contactCtes, setContactSql } from '../effects/contact-effects.ts';
import { type CountedOutcomes, countOutcomesSql, leaveQueueSql } from '../effects/leave-queue.ts';
import { emailEventsOf } from '../../terms/events.ts';
import { countFlowMessagesSql, messageBeforeSql } from '../effects/flow-counts.ts';
import { countStatsSql } from '../effects/stat-changes.ts';
import type { DeliveryFact } from './delivery-fact.ts';
import { applyFacts, type FactChange, type ReportedMessage } from './fact-changes.ts';
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

const counted: CountedOutcomes = { sentNow: 'sent_now', attempted: 'sent_now' };

/**
 * SQL over `updated`: whether the tallies of blocks may change. The delivery of a message that was sent does not change
 * them.
 */
const tallyChangedSql = `(sent_now or failed_now or bounce is not null or status = 'complained')`;
const contactSql = contactCtes({ sentNow: 'sent_now', failedNow: 'coalesce(failed_now, false)' });

/** SQL: counts the messages that were sent, delivered and so on by the facts. The facts decide: see `fact-changes.ts`. */
const statsSql = countStatsSql('updated', {
  sent: 'u.sent_now',
  delivered: 'u.delivered_now',
  bounced: 'u.bounced_now',
  complained: 'u.complained_now',
});

/** What kinds of messages a statement may change. Parts that no message needs are left out. */
interface ChangeShape {
  /** Whether recipients may be contacts. */
  forContacts: boolean;
  forCampaigns?: boolean;
  forFlows?: boolean;
}

/** SQL: messages that are charged their whole reservation until their senders record how many segments were sent. */
const uncountedSql = `array(select "messageId" from input where uncounted)`;

/** SQL: all effects of changes of locked messages. `$1` are the changes, `$2` the events to store. */
const changeSql = (
  publication: Publication,
  { forContacts, forCampaigns = false, forFlows = false }: ChangeShape,
): string => {
  const isRendered = forCampaigns || forFlows;
  return `
  with input as (
    select * from json_to_recordset($1) as i (
      "messageId" bigint, status text, attempt smallint, provider text, "providerMessageId" text, "sentAt" timestamptz,
      "sentAttempt" smallint, "deliveredAt" timestamptz, response text, failure jsonb, bounce jsonb, "sentNow" boolean, "failedNow" boolean,
      suppress text, counted boolean, "bouncedAt" timestamptz, "deliveredNow" boolean, "firstBouncedAt" timestamptz,
      "complainedAt" timestamptz, unsent boolean, uncounted boolean, published json)
  )${leaveQueueSql('$3', '$4', limits, { cleared: '$4', ...(isRendered ? { unknown: uncountedSql } : {}) })}, updated as (
    update messages m set
      status = i.status,
      attempt_count = greatest(m.attempt_count, i.attempt),
      sent_at = coalesce(m.sent_at, i."sentAt"),
      delivered_at = coalesce(m.delivered_at, i."deliveredAt"),
      bounced_at = coalesce(m.bounced_at, i."firstBouncedAt"),
      complained_at = coalesce(m.complained_at, i."complainedAt"),
      provider = i.provider, provider_message_id = i."providerMessageId", sent_attempt = i."sentAttempt",
      response = i.response, failure = i.failure, bounce = i.bounce, hold = null, updated_at = now(),
      unsent_at = case when i.unsent then coalesce(m.unsent_at, now()) else m.unsent_at end
      ${forContacts ? setContactSql : ''}${isRendered ? `, segments = ${segmentsNowSql('i.uncounted')}` : ''}
    from input i${forFlows ? ` ${messageBeforeSql('i."messageId"')}` : ''} where m.id = i."messageId"
    returning m.*${forFlows ? ', was.*' : ''}, i."sentNow" as sent_now, i."failedNow" as failed_now, i.suppress as suppression, i.counted,
      i."bouncedAt" as suppressed_at, i."deliveredNow" as delivered_now, i."firstBouncedAt" is not null as bounced_now,
      i."complainedAt" is not null as complained_now, i.published
  ), events as (
    insert into message_events (message_id, attempt, type, occurred_at, data)
    select e."messageId", e.attempt, e.type, e."occurredAt", jsonb_strip_nulls(jsonb_build_object(
      'provider', e.provider, 'response', e.response, 'failure', e.failure, 'bounce', e.bounce))
    from json_to_recordset($2) as e (
      "messageId" bigint, attempt smallint, type text, "occurredAt" timestamptz, provider text, response text,
      failure jsonb, bounce jsonb)
    on conflict do nothing
  )${forFlows ? countFlowMessagesSql('updated') : ''}${
    forCampaigns
      ? markForRecountSql(
          `select campaign_id, id from updated where campaign_id is not null and ${tallyChangedSql}`,
        )
      : ''
  }${suppressionCtes(addressReportsSql)}${forContacts ? contactSql : ''}${countOutcomesSql(
    forContacts ? { ...counted, after: CONTACT_COUNTS } : counted,
  )}${statsSql}, new_events as materialized (
    select gen_random_uuid() as id, e.*
    from updated u cross join json_to_recordset(u.published) as e (${publication.columns})
    where ${publication.interest('u.brand_id')}
  ), ${publication.ctes}
  select ${publication.counts} as counts`;
};

/** What is written for the facts about locked messages. */
export const recordFactsStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'writeChanges',
  does: 'Writes what reports of providers change in messages that `lock_reported_messages` has locked, and all that follows.',
  parameters: [
    'json: the messages that change, with their new columns and the events to publish',
    'json: the rows of message_events',
    'bigint[]: the messages whose wait in the queue ends',
    'bigint[]: those of them that were not sent, and get back what they have reserved',
  ],
  shapes: {
    record_facts: { forContacts: false },
    record_facts_of_contacts: { forContacts: true },
    record_facts_of_campaigns: { forContacts: true, forCampaigns: true },
    record_facts_of_flows: { forContacts: true, forFlows: true },
    record_facts_of_both: { forContacts: true, forCampaigns: true, forFlows: true },
  },
  when: {
    record_facts: 'no message has a recipient who is a contact',
    record_facts_of_contacts: 'recipients may be contacts; no message is of a campaign or flow',
    record_facts_of_campaigns: 'messages of campaigns, and transactional ones',
    record_facts_of_flows: 'messages of flows, and transactional ones',
    record_facts_of_both: 'messages of campaigns and of flows',
  },
  version: 6,
  compose: (shape: ChangeShape, { publication }: EventPublisher) => changeSql(publication, shape),
});

/** @param n the number of events of the statement so far */
function eventRows({ message, published }: FactChange, n: number) {
  return published
    .flatMap(({ type, occurredAt, response }) =>
      emailEventsOf({ ...message, message, events: [type], response }, occurredAt),
    )
    .map((event, index) => toEventRow(event, n + index));
}

/**
 * Whether the message is charged from now on, but its sender has not recorded how many segments were sent. This is a
 * text that is rendered when it is sent, and whose report came before the record.
 */
const isUncounted = ({ message, sentNow, unsent }: FactChange) =>
  sentNow && !unsent && isPaidBySegment(message.channel) && message.class !== messageClasses.transactional;

/** The rows of the statement's input. */
function inputRows(changes: readonly FactChange[]) {
  let events = 0;
  return changes.map((change) => {
    const { message, attempt, sentNow, failedNow, unsent, suppress, counted: counts } = change;
    const { deliveredNow, firstBouncedAt, complainedAt } = change;
    const published = eventRows(change, events);
    events += published.length;
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
      sentNow,
      suppress,
      counted: counts,
      bouncedAt: suppress && message.bouncedAt,
      ...(deliveredNow ? { deliveredNow } : {}),
      ...(firstBouncedAt ? { firstBouncedAt } : {}),
      ...(complainedAt ? { complainedAt } : {}),
      ...(failedNow ? { failedNow } : {}),
      ...(unsent ? { unsent } : {}),
      ...(isUncounted(change) ? { uncounted: true } : {}),
      ...(published.length > 0 ? { published } : {}),
    };
  });
}

/** A message that is not recorded as sent yet has no contact, but may get one now. */
const mayConcernContact = ({ message, sentNow }: FactChange) => message.contactId !== null || sentNow;

function shapeFor(changed: readonly FactChange[]) {
  const has = (priority: number) => changed.some(({ message }) => message.class === priority);
  const ofCampaigns = has(messageClasses.campaign);
  if (has(messageClasses.flow)) return ofCampaigns ? 'record_facts_of_both' : 'record_facts_of_flows';
  if (ofCampaigns) return 'record_facts_of_campaigns';
  return changed.some(mayConcernContact) ? 'record_facts_of_contacts' : 'record_facts';
}

async function writeChanges(
  client: Queryable,
  changes: readonly FactChange[],
  events: EventPublisher,
): Promise<QueuedWork> {
  const changed = changes.filter((change) => change.changed);
  const stored = changes.flatMap((change) => change.stored);
  if (changed.length === 0 && stored.length === 0) return new Map();
  const settled = changed.filter((change) => change.settled);
  const idsOf = (those: readonly FactChange[]) => those.map(({ message }) => message.messageId);
  const { rows } = await client.query<{ counts: number[] }>({
    ...recordFactsStatement.prepared(shapeFor(changed), events),
    values: [
      JSON.stringify(inputRows(changed)),
      JSON.stringify(stored),
      idsOf(settled),
      idsOf(settled.filter(({ message }) => message.status === 'failed')),
    ],
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
