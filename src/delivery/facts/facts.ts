import type pg from 'pg';
import type { Queryable } from '../../platform/db/queryable.ts';
import {
  type EventPublisher,
  type Publication,
  type QueuedWork,
  toEventRow,
} from '../../platform/events/publish.ts';
import { markForRecountSql } from '../blocks/campaign-blocks.ts';
import { CONTACT_COUNTS, contactCtes, setContactSql } from '../effects/contact-effects.ts';
import { type CountedOutcomes, countOutcomesSql, leaveQueueSql } from '../effects/leave-queue.ts';
import { emailEventsOf } from '../events.ts';
import { countFlowMessagesSql, messageBeforeSql } from '../effects/flow-counts.ts';
import { applyFacts, type FactChange, type ReportedMessage } from './fact-changes.ts';
import { intentsOfSql } from '../send/intend/open-intents.ts';
import { limits } from '../limits/authority.ts';
import { type Bounce, type FailureCode, messageClasses } from '../message.ts';
import { segmentsNowSql } from '../money/rendered-segments.ts';
import { suppressionCtes } from '../consent/suppressions.ts';

/** Where a report about a message came from. */
export type FactSource =
  /** A callback of this provider. It counts only if the provider has the message or had it before. */
  | { kind: 'callback'; provider: string }
  /** A mail to the message's return path, or a feedback report that returned its Message-ID. */
  | { kind: 'mail' };

/**
 * A report about a message that arrived after its hand-over, or during it. Whoever creates it has checked its MAC, so
 * the message is one of the account's.
 */
export interface DeliveryFact {
  accountId: number;
  messageId: number;
  source: FactSource;
  type: 'accepted' | 'delivered' | 'deferred' | 'bounced' | 'complained' | 'failed';
  occurredAt: Date;
  providerMessageId: string | null;
  response: string | null;
  /** With `bounced` only. */
  bounce: Bounce | null;
  /** With `failed` only. */
  failure: { code: FailureCode; message: string } | null;
  /** With `bounced` and `complained`: whether the report may suppress the address. */
  suppresses: boolean;
  /**
   * With `complained`: the recipient that the report names. If it is not the recipient of the message, or null, the
   * complaint suppresses the address but does not count against the account. Absent: the source is trusted.
   */
  complainant?: string | null;
  /** With `failed`: the provider refused the message because the recipient opted out of the brand's messages. */
  optedOut?: true;
}

/**
 * The accounts whose recipients the facts may suppress or unsubscribe, be they new or known. After recording, wait for
 * the recipient fence of each before you confirm the report: the first time it may have failed before.
 */
export function accountsToFence(facts: readonly DeliveryFact[]): number[] {
  const stops = facts.filter(
    ({ type, suppresses, optedOut }) =>
      optedOut === true || (suppresses && (type === 'bounced' || type === 'complained')),
  );
  return [...new Set(stops.map(({ accountId }) => accountId))];
}

/** What facts changed. */
export interface RecordedFacts {
  /** Wake its channels after the commit. */
  queued: QueuedWork;
  /** The number of facts that were believed and not known before. */
  recorded: number;
  /** The messages whose recipients opted out at the provider. The caller records the opt-outs. */
  optedOut: ReportedMessage[];
}

/**
 * SQL: locks messages in the order of their ids, as recording does, and reads them with the open hand-overs of those
 * that were not sent before. Most were, so hand-overs are seldom read.
 */
const lockSql = `
  with locked as materialized (
    select * from messages m where m.id = any($1) and m.id between $2 and $3 order by m.id for no key update
  ), intended as (
    select i.message_id, h.provider, i.attempt
    from locked l cross join lateral ${intentsOfSql('l')} h
    cross join unnest(h.message_ids, h.attempts) as i (message_id, attempt)
    where l.sent_at is null and i.message_id = l.id
  )
  select m.id as "messageId", m.account_id as "accountId", m.brand_id as "brandId", m.contact_id as "contactId",
    m.channel, m.class, m.status, m.test,
    m.created_at as "createdAt", m.to_address as "to", m.subject, m.idempotency_key as "idempotencyKey", m.tags,
    m.attempt_count as "attemptCount", m.provider, m.provider_message_id as "providerMessageId",
    m.sent_attempt as "sentAttempt", m.sent_at as "sentAt", m.delivered_at as "deliveredAt", m.response, m.failure,
    m.bounce, null as "bouncedAt", i.provider as "intendedProvider", i.attempt as "intendedAttempt"
  from locked m
  left join lateral (
    select * from intended where message_id = m.id order by attempt desc limit 1) i on true`;

/** SQL: what the changes say about addresses. */
const addressReportsSql = `
    select u.account_id, u.to_key as address_key, u.channel, u.suppression as reason, u.provider as source_provider,
      case when u.suppression <> 'complaint' then u.bounce ->> 'diagnostic' end as diagnostic,
      u.bounced_at as occurred_at, u.counted
    from updated u where u.suppression is not null`;

const counted: CountedOutcomes = { sentNow: 'sent_now', attempted: 'sent_now' };

/** SQL over `updated`: what the tallies of blocks count may have changed. A delivery of a message that was sent does not. */
const tallyChangedSql = `(sent_now or failed_now or bounce is not null or status = 'complained')`;
const contactSql = contactCtes({ sentNow: 'sent_now', failedNow: 'coalesce(failed_now, false)' });

/** What the messages of a statement may have. Statements for others leave the parts out. */
interface ChangeShape {
  /** Recipients may be contacts. */
  forContacts: boolean;
  forCampaigns?: boolean;
  forFlows?: boolean;
}

/** SQL: messages that are charged what they have reserved, until their senders record how many segments were sent. */
const uncountedSql = `array(select "messageId" from input where uncounted)`;

/** The statement's shapes, by the name of the prepared statement. */
const shapes = {
  record_facts: { forContacts: false },
  record_facts_of_contacts: { forContacts: true },
  record_facts_of_campaigns: { forContacts: true, forCampaigns: true },
  record_facts_of_flows: { forContacts: true, forFlows: true },
  record_facts_of_both: { forContacts: true, forCampaigns: true, forFlows: true },
} as const satisfies Record<string, ChangeShape>;

/**
 * SQL: everything that follows from changes of locked messages. `$1` are the changes, `$2` the events to store.
 */
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
      suppress text, counted boolean, "bouncedAt" timestamptz, unsent boolean, uncounted boolean, published json)
  )${leaveQueueSql('$3', '$4', limits, { cleared: '$4', ...(isRendered ? { unknown: uncountedSql } : {}) })}, updated as (
    update messages m set
      status = i.status,
      attempt_count = greatest(m.attempt_count, i.attempt),
      sent_at = coalesce(m.sent_at, i."sentAt"),
      delivered_at = coalesce(m.delivered_at, i."deliveredAt"),
      provider = i.provider, provider_message_id = i."providerMessageId", sent_attempt = i."sentAttempt",
      response = i.response, failure = i.failure, bounce = i.bounce, hold = null, updated_at = now(),
      unsent_at = case when i.unsent then coalesce(m.unsent_at, now()) else m.unsent_at end
      ${forContacts ? setContactSql : ''}${isRendered ? `, segments = ${segmentsNowSql('i.uncounted')}` : ''}
    from input i${forFlows ? ` ${messageBeforeSql('i."messageId"')}` : ''} where m.id = i."messageId"
    returning m.*${forFlows ? ', was.*' : ''}, i."sentNow" as sent_now, i."failedNow" as failed_now, i.suppress as suppression, i.counted,
      i."bouncedAt" as bounced_at, i.published
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
  )}, new_events as materialized (
    select gen_random_uuid() as id, e.*
    from updated u cross join json_to_recordset(u.published) as e (${publication.columns})
    where ${publication.interest('u.brand_id')}
  ), ${publication.ctes}
  select ${publication.counts} as counts`;
};

/** The statement is long, so that building it for each batch would take longer than most batches. */
const statements = new WeakMap<Publication, Record<keyof typeof shapes, pg.QueryConfig>>();

function changeStatement(publication: Publication, name: keyof typeof shapes): pg.QueryConfig {
  const made = () =>
    Object.fromEntries(
      Object.entries(shapes).map(([each, shape]) => [
        each,
        { name: `${each}_3`, text: changeSql(publication, shape) },
      ]),
    ) as Record<keyof typeof shapes, pg.QueryConfig>;
  const known = statements.get(publication) ?? made();
  statements.set(publication, known);
  return known[name];
}

type LockedMessage = Omit<ReportedMessage, 'earlier'>;

/** When hard bounces happened. Facts need it only for a message that bounced and whose delivery is reported now. */
async function addBounceTimes(
  client: Queryable,
  messages: readonly LockedMessage[],
  facts: readonly DeliveryFact[],
): Promise<void> {
  const delivered = new Set(
    facts.filter(({ type }) => type === 'delivered').map(({ messageId }) => messageId),
  );
  const wanted = messages.filter(({ status, messageId }) => status === 'bounced' && delivered.has(messageId));
  if (wanted.length === 0) return;
  const { rows } = await client.query<{ message_id: number; occurred_at: Date }>(
    `select message_id, max(occurred_at) as occurred_at from message_events
     where message_id = any($1) and type = 'bounced' group by message_id`,
    [wanted.map(({ messageId }) => messageId)],
  );
  const times = new Map(rows.map((row) => [row.message_id, row.occurred_at]));
  for (const message of wanted) message.bouncedAt = times.get(message.messageId) ?? null;
}

/**
 * Adds the providers that had a message before it was moved to another one, from its events. They are looked up only
 * for messages about which a provider reports that does not have them now.
 */
async function addEarlierProviders(
  client: Queryable,
  messages: readonly LockedMessage[],
  facts: readonly DeliveryFact[],
): Promise<ReportedMessage[]> {
  const byId = new Map(messages.map((message) => [message.messageId, message]));
  const ids = new Set<number>();
  const providers = new Set<string>();
  for (const { accountId, messageId, source } of facts) {
    const message = byId.get(messageId);
    if (source.kind !== 'callback' || message?.accountId !== accountId) continue;
    if (source.provider === message.provider || source.provider === message.intendedProvider) continue;
    ids.add(messageId);
    providers.add(source.provider);
  }
  const earlier = new Map<number, Map<string, number>>();
  if (ids.size > 0) {
    const { rows } = await client.query<{ message_id: number; provider: string; attempt: number }>(
      `select message_id, data ->> 'provider' as provider, max(attempt) as attempt from message_events
       where message_id = any($1) and data ->> 'provider' = any($2) group by 1, 2`,
      [[...ids], [...providers]],
    );
    for (const { message_id, provider, attempt } of rows) {
      const { provider: present, intendedProvider } = byId.get(message_id) ?? {};
      if (provider === present || provider === intendedProvider) continue;
      earlier.set(message_id, (earlier.get(message_id) ?? new Map<string, number>()).set(provider, attempt));
    }
  }
  const none = new Map<string, number>();
  return messages.map((message) => ({ ...message, earlier: earlier.get(message.messageId) ?? none }));
}

async function lockMessages(client: Queryable, facts: readonly DeliveryFact[]): Promise<ReportedMessage[]> {
  const ids = [...new Set(facts.map(({ messageId }) => messageId))];
  const { rows } = await client.query<LockedMessage>({
    name: 'lock_reported_messages',
    text: lockSql,
    // The bounds let PostgreSQL leave out partitions before it opens them.
    values: [ids, Math.min(...ids), Math.max(...ids)],
  });
  await addBounceTimes(client, rows, facts);
  return addEarlierProviders(client, rows, facts);
}

/** @param n the number of events of the statement so far */
function eventRows({ message, published }: FactChange, n: number) {
  return published
    .flatMap(({ type, occurredAt, response }) =>
      emailEventsOf({ ...message, message, events: [type], response }, occurredAt),
    )
    .map((event, index) => toEventRow(event, n + index));
}

/**
 * Whether the message is charged from now on, and its sender has not recorded how many segments were sent: it is a text that
 * is rendered when it is sent, and the report has come before the record.
 */
const isUncounted = ({ message, sentNow, unsent }: FactChange) =>
  sentNow && !unsent && message.channel === 'sms' && message.class !== messageClasses.transactional;

/** The rows of the statement's input. */
function inputRows(changes: readonly FactChange[]) {
  let events = 0;
  return changes.map((change) => {
    const { message, attempt, sentNow, failedNow, unsent, suppress, counted: counts } = change;
    const published = eventRows(change, events);
    events += published.length;
    const { messageId, status, provider, providerMessageId, sentAt, sentAttempt, deliveredAt } = message;
    const { response, failure, bounce } = message;
    return {
      ...{ messageId, status, attempt, provider, providerMessageId, sentAt, sentAttempt, deliveredAt },
      ...{
        response,
        failure,
        bounce,
        sentNow,
        suppress,
        counted: counts,
        bouncedAt: suppress && message.bouncedAt,
      },
      ...(failedNow ? { failedNow } : {}),
      ...(unsent ? { unsent } : {}),
      ...(isUncounted(change) ? { uncounted: true } : {}),
      ...(published.length > 0 ? { published } : {}),
    };
  });
}

/** A message that was not recorded as sent yet has no contact yet. */
const mayConcernContact = ({ message, sentNow }: FactChange) => message.contactId !== null || sentNow;

function statementFor(changed: readonly FactChange[]): keyof typeof shapes {
  const has = (priority: number) => changed.some(({ message }) => message.class === priority);
  const ofCampaigns = has(messageClasses.campaign);
  if (has(messageClasses.flow)) return ofCampaigns ? 'record_facts_of_both' : 'record_facts_of_flows';
  if (ofCampaigns) return 'record_facts_of_campaigns';
  return changed.some(mayConcernContact) ? 'record_facts_of_contacts' : 'record_facts';
}

async function writeChanges(
  client: Queryable,
  changes: readonly FactChange[],
  { publication }: EventPublisher,
): Promise<QueuedWork> {
  const changed = changes.filter((change) => change.changed);
  const stored = changes.flatMap((change) => change.stored);
  if (changed.length === 0 && stored.length === 0) return new Map();
  const settled = changed.filter((change) => change.settled);
  const idsOf = (those: readonly FactChange[]) => those.map(({ message }) => message.messageId);
  const { rows } = await client.query<{ counts: number[] }>({
    ...changeStatement(publication, statementFor(changed)),
    values: [
      JSON.stringify(inputRows(changed)),
      JSON.stringify(stored),
      idsOf(settled),
      idsOf(settled.filter(({ message }) => message.status === 'failed')),
    ],
  });
  return publication.queuedWork(rows[0]?.counts ?? []);
}

/**
 * Records reports about messages: states, events and the work that follows from them, suppressions and counters, and
 * the end of waiting in the queue. Locks the messages first, so that what each fact means is decided on their present
 * state. Facts may arrive more than once, in any order, and before the record of the hand-over; whichever is first
 * publishes `email.sent` and counts the message.
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
