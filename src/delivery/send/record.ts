import type pg from 'pg';
import type { Queryable } from '../../platform/db/queryable.ts';
import {
  type EventPublisher,
  type Publication,
  type QueuedWork,
  toEventRow,
} from '../../platform/events/publish.ts';
import { recipientKey } from '../addresses/recipient.ts';
import { CONTACT_COUNTS, contactCtes, setContactSql } from '../contact-effects.ts';
import { type CountedOutcomes, countOutcomesSql, leaveQueueSql } from '../effects.ts';
import { emailEvents, emailEventsOf } from '../events.ts';
import { limits, type Limits } from '../limits/authority.ts';
import { messageStatuses, statesBefore, statusList } from '../message.ts';
import { suppressionCtes } from '../suppressions.ts';
import type { OutcomeRecord } from './outcomes.ts';

/** A batch with the outcomes of all its messages. */
export interface BatchRecord {
  owner: number;
  /** The intent to end; null if none was written. */
  seq: number | null;
  outcomes: OutcomeRecord[];
}

/**
 * SQL: allows only the transitions of the table of states. A message that was sent, as a late report of it may have
 * shown already, takes no other outcome of a hand-over than its delivery.
 */
const guardSql = messageStatuses
  .map((status) => `when '${status}' then m.status in (${statusList(statesBefore(status))})`)
  .join('\n        ');

/**
 * SQL: reports about addresses. A hard bounce counts whatever state the message is in, but not if a late report has
 * shown that an earlier attempt was accepted. A soft bounce counts once: only the first record of an outcome changes the
 * message.
 */
const addressReportsSql = `
    select i."accountId" as account_id, i."addressKey" as address_key, i.channel, 'hard_bounce' as reason,
      i.provider as source_provider, i.bounce ->> 'diagnostic' as diagnostic, now() as occurred_at,
      true as counted
    from input i where i.suppress and not was_sent(i."messageId")
    union all
    select u.account_id, u.to_key, u.channel, 'soft_bounce', u.provider, u.bounce ->> 'diagnostic', now(), true
    from updated u where u.status = 'bounced' and u.bounce ->> 'type' = 'soft'`;

/**
 * SQL: stores the events of outcomes, except what the message's row shows itself: that it was sent or delivered,
 * when, in which attempt, and the provider's response. Most messages therefore have no row in `message_events`.
 */
const messageEventsSql = `
    insert into message_events (message_id, attempt, type, data)
    select i."messageId", i.attempt, e.type, jsonb_strip_nulls(jsonb_build_object(
      'provider', i.provider, 'response', i.response, 'failure', i.failure, 'bounce', i.bounce))
    from input i cross join unnest(i.events) as e (type)
    where e.type not in ('sent', 'delivered')
      or (i."messageId", i.attempt) not in (select id, sent_attempt from updated where sent_attempt is not null)
    on conflict do nothing`;

/** SQL over `updated`: this statement has set `sent_at`. Both times are that of its transaction. */
const sentNowSql = 'sent_at = updated_at';

const sentSql = `status in ('sent', 'delivered') and ${sentNowSql}`;

const counted: CountedOutcomes = {
  sentNow: sentSql,
  attempted: `(status in ('sent', 'delivered') and ${sentNowSql} or status = 'bounced')`,
};

/** SQL: what follows for contacts. No state leads to these two from each other. */
const contactSql = contactCtes({ sentNow: sentSql, failedNow: `status in ('bounced', 'failed')` });

/**
 * SQL: everything that follows from outcomes, in one statement and so in one transaction. Outcomes are facts keyed by
 * message and attempt: they are recorded whichever process owns the queue row by now, and recording them twice changes
 * nothing. Queue rows are looked up by their keys, as in a claim.
 * @param forContacts whether recipients may be contacts
 */
const recordSql = (publication: Publication, table: Limits, forContacts: boolean): string => `
  with input as (
    select * from json_to_recordset($1) as i (
      "messageId" bigint, attempt smallint, epoch int, status text, events text[], queue text, "delaySeconds" int,
      provider text, "providerMessageId" text, response text, failure jsonb, bounce jsonb,
      suppress boolean, "accountId" bigint, "addressKey" text, channel text, owner bigint, published json)
  ), intents as (
    delete from handovers h using unnest($2::bigint[], $3::bigint[]) as e (owner, seq)
    where h.owner = e.owner and h.seq = e.seq
  )${leaveQueueSql('$4', '$5', table)}, requeued as (
    update send_queue q set owner = null,
      due_at = case i.queue when 'retry' then now() + make_interval(secs => i."delaySeconds") else q.due_at end,
      attempt_count = case i.queue when 'retry' then greatest(q.attempt_count, i.attempt) else q.attempt_count end
    from input i
    where i.queue <> 'delete' and q.message_id = any($6) and q.message_id = i."messageId"
      and q.owner = i.owner and q.claim_epoch = i.epoch
  ), updated as (
    update messages m set
      status = i.status,
      attempt_count = greatest(m.attempt_count, i.attempt),
      sent_at = case when i.status in ('sent', 'delivered') then coalesce(m.sent_at, now()) else m.sent_at end,
      delivered_at = case i.status when 'delivered' then coalesce(m.delivered_at, now()) else m.delivered_at end,
      provider = coalesce(i.provider, m.provider),
      provider_message_id = coalesce(i."providerMessageId", m.provider_message_id),
      sent_attempt = case when i.status in ('sent', 'delivered') then coalesce(m.sent_attempt, i.attempt)
        else m.sent_attempt end,
      response = case when i.status in ('sent', 'delivered') and m.sent_attempt is null then i.response
        else m.response end,
      failure = i.failure, bounce = coalesce(i.bounce, m.bounce), hold = null, updated_at = now()
      ${forContacts ? setContactSql : ''}
    from input i
    where m.id = i."messageId" and case i.status
        ${guardSql} end
      and (m.sent_at is null or i.status = 'delivered')
    returning m.*, i.published
  ), events as (${messageEventsSql}
  )${suppressionCtes(addressReportsSql)}${forContacts ? contactSql : ''}${countOutcomesSql(
    forContacts ? { ...counted, after: CONTACT_COUNTS } : counted,
  )}, new_events as materialized (
    select gen_random_uuid() as id, e.*
    from updated u cross join json_to_recordset(u.published) as e (${publication.columns})
    where not u.test and (e.type <> '${emailEvents.sent.type}' or ${sentNowSql}) and ${publication.interest('u.brand_id')}
  ), ${publication.ctes}
  select ${publication.counts} as counts`;

/** One row of the statement's input. Absent fields are read as null: most are, and each would be parsed many times. */
function inputRow(outcome: OutcomeRecord, owner: number) {
  const {
    message,
    providerMessageId,
    failure,
    bounce,
    suppress,
    giveBack: _,
    hasContacts: __,
    ...rest
  } = outcome;
  const { accountId, channel } = message;
  return {
    ...rest,
    owner,
    ...(providerMessageId === null ? {} : { providerMessageId }),
    ...(failure ? { failure } : {}),
    ...(bounce ? { bounce } : {}),
    ...(suppress ? { suppress, accountId, channel, addressKey: recipientKey(channel, message.to) } : {}),
  };
}

function idsOf(outcomes: readonly OutcomeRecord[], matches: (outcome: OutcomeRecord) => boolean): number[] {
  return outcomes.filter(matches).map(({ messageId }) => messageId);
}

/** The statement's texts, made once. */
interface RecordStatements {
  forContacts: string;
  forOthers: string;
}

/** @returns the value of the publication's `counts` */
async function recordBatches(
  client: Queryable,
  statements: RecordStatements,
  batches: readonly BatchRecord[],
): Promise<number[]> {
  const occurredAt = new Date();
  const intents = batches.filter((batch) => batch.seq !== null);
  // All statements lock messages in this order: two senders may know outcomes of the same messages.
  const owned = batches
    .flatMap(({ owner, outcomes }) => outcomes.map((outcome) => ({ owner, outcome })))
    .sort((one, other) => one.outcome.messageId - other.outcome.messageId);
  let published = 0;
  const input = owned.map(({ owner, outcome }) => {
    const events = emailEventsOf(outcome, occurredAt).map((event) => toEventRow(event, published++));
    return events.length === 0
      ? inputRow(outcome, owner)
      : { ...inputRow(outcome, owner), published: events };
  });
  const outcomes = owned.map(({ outcome }) => outcome);
  const { rows } = await client.query<{ counts: number[] }>({
    ...(outcomes.some(({ hasContacts }) => hasContacts)
      ? { name: 'record_outcomes_of_contacts', text: statements.forContacts }
      : { name: 'record_outcomes', text: statements.forOthers }),
    values: [
      JSON.stringify(input),
      intents.map((batch) => batch.owner),
      intents.map((batch) => batch.seq),
      idsOf(outcomes, ({ queue }) => queue === 'delete'),
      idsOf(outcomes, ({ giveBack }) => giveBack),
      idsOf(outcomes, ({ queue }) => queue !== 'delete'),
    ],
  });
  return rows[0]?.counts ?? [];
}

export interface BatchRecordingDeps {
  pool: pg.Pool;
  events: EventPublisher;
}

/** Returns the work that follows from the events; the caller wakes its channels. */
export type RecordBatches = (batches: readonly BatchRecord[]) => Promise<QueuedWork>;

/**
 * Records batches in one statement: attempts, message states, events and the work that follows from them, suppressions
 * and counters, and the end of the intents.
 */
export function createBatchRecording(
  { pool, events }: BatchRecordingDeps,
  table: Limits = limits,
): RecordBatches {
  const { publication } = events;
  const statements = {
    forContacts: recordSql(publication, table, true),
    forOthers: recordSql(publication, table, false),
  };
  return async (batches) => publication.queuedWork(await recordBatches(pool, statements, batches));
}
