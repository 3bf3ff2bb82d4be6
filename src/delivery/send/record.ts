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
import { messageClasses, messageStatuses, statesBefore, statusList } from '../message.ts';
import { blocksOfSql, changedBlocksSql } from '../campaign-blocks.ts';
import { suppressionCtes } from '../suppressions.ts';
import type { BlockClaim } from './blocks.ts';
import type { OutcomeRecord } from './outcomes.ts';

/** A batch with the outcomes of all its messages. */
export interface BatchRecord {
  owner: number;
  /** The intent to end; null if none was written. */
  seq: number | null;
  outcomes: OutcomeRecord[];
  /** The messages lie in this block of a campaign and have no queue rows. */
  block?: BlockClaim;
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
 * SQL: queue rows of campaign messages that are tried again. They take over the place that their block has reserved.
 * Their lifetime begins with the first attempt.
 */
const enqueuedSql = `, enqueued as (
    insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, attempt_count, connection_losses,
      domain_id, provider_id, content_bytes, campaign_id, reserved_bucket)
    select i."messageId", b.account_id, b.channel, ${messageClasses.campaign}, now() + make_interval(secs => i."delaySeconds"),
      now(), i.attempt - case when i.losses > 0 then 1 else 0 end, coalesce(i.losses, 0), b.domain_id, b.provider_id,
      coalesce(i.bytes, 0), b.campaign_id, b.reserved_bucket
    from input i join campaign_blocks b on b.campaign_id = i."campaignId" and b.n = i.block
    where i.queue = 'enqueue'
    on conflict (message_id) do nothing
  )`;

/**
 * SQL: the blocks in which messages have changed are counted again. $7 are the blocks of the batches, with the places that
 * their messages have used, or that went to queue rows. If the intent is gone, they were taken before.
 */
const blocksSql = `, batches as materialized (
    select * from json_to_recordset($7) as b (owner bigint, seq bigint, "campaignId" bigint, n int, used int)
  )${changedBlocksSql(
    `${blocksOfSql(`
        select campaign_id, id from updated
        where campaign_id is not null and id not in (select "messageId" from input where block is not null)`)}
      union all select "campaignId", n from batches`,
    `select coalesce(sum(t.used), 0)::int from batches t join intents e on e.owner = t.owner and e.seq = t.seq
      where t."campaignId" = b.campaign_id and t.n = b.n`,
  )}`;

/**
 * SQL: everything that follows from outcomes, in one statement and so in one transaction. Outcomes are facts keyed by
 * message and attempt: they are recorded whichever process owns the queue row by now, and recording them twice changes
 * nothing. Queue rows are looked up by their keys, as in a claim.
 * @param forContacts whether recipients may be contacts
 * @param forCampaigns whether there may be messages of campaigns; then recipients may be contacts, too
 */
const recordSql = (
  publication: Publication,
  table: Limits,
  forContacts: boolean,
  forCampaigns = false,
): string => `
  with input as (
    select * from json_to_recordset($1) as i (
      "messageId" bigint, attempt smallint, epoch int, status text, events text[], queue text, "delaySeconds" int,
      provider text, "providerMessageId" text, response text, failure jsonb, bounce jsonb,
      suppress boolean, "accountId" bigint, "addressKey" text, channel text, owner bigint, published json${
        forCampaigns ? ', "campaignId" bigint, block int, losses smallint, bytes int, "versionId" bigint' : ''
      })
  ), intents as (
    delete from handovers h using unnest($2::bigint[], $3::bigint[]) as e (owner, seq)
    where h.owner = e.owner and h.seq = e.seq ${forCampaigns ? 'returning h.owner, h.seq' : ''}
  )${leaveQueueSql('$4', '$5', table)}, requeued as (
    update send_queue q set owner = null,
      due_at = case when i.queue in ('retry', 'postpone') then now() + make_interval(secs => i."delaySeconds")
        else q.due_at end,
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
      ${forContacts ? setContactSql : ''}${forCampaigns ? ', content_version_id = coalesce(i."versionId", m.content_version_id)' : ''}
    from input i
    where m.id = i."messageId" and case i.status
        ${guardSql} end
      and (m.sent_at is null or i.status = 'delivered')
    returning m.*, i.published
  ), events as (${messageEventsSql}
  )${forCampaigns ? enqueuedSql + blocksSql : ''}${suppressionCtes(addressReportsSql)}${forContacts ? contactSql : ''}${countOutcomesSql(
    forContacts ? { ...counted, after: CONTACT_COUNTS } : counted,
  )}, new_events as materialized (
    select gen_random_uuid() as id, e.*
    from updated u cross join json_to_recordset(u.published) as e (${publication.columns})
    where not u.test and (e.type <> '${emailEvents.sent.type}' or ${sentNowSql}) and ${publication.interest('u.brand_id')}
  ), ${publication.ctes}
  select ${publication.counts} as counts`;

/** One row of the statement's input. Absent fields are read as null: most are, and each would be parsed many times. */
function inputRow(outcome: OutcomeRecord, owner: number, block: BlockClaim | undefined) {
  const {
    message,
    providerMessageId,
    failure,
    bounce,
    suppress,
    giveBack: _,
    hasContacts: __,
    versionId,
    ...rest
  } = outcome;
  const { accountId, channel } = message;
  return {
    ...rest,
    owner,
    ...(providerMessageId === null ? {} : { providerMessageId }),
    ...(failure ? { failure } : {}),
    ...(bounce ? { bounce } : {}),
    ...(block ? { campaignId: block.campaignId, block: block.n } : {}),
    ...(versionId === null ? {} : { versionId }),
    ...(suppress ? { suppress, accountId, channel, addressKey: recipientKey(channel, message.to) } : {}),
  };
}

function idsOf(outcomes: readonly OutcomeRecord[], matches: (outcome: OutcomeRecord) => boolean): number[] {
  return outcomes.filter(matches).map(({ messageId }) => messageId);
}

/** The statement's texts, made once. */
interface RecordStatements {
  forCampaigns: string;
  forContacts: string;
  forOthers: string;
}

function statementFor(
  { forCampaigns, forContacts, forOthers }: RecordStatements,
  outcomes: readonly OutcomeRecord[],
  ofCampaigns: boolean,
) {
  if (ofCampaigns) return { name: 'record_outcomes_of_campaigns', text: forCampaigns };
  return outcomes.some(({ hasContacts }) => hasContacts)
    ? { name: 'record_outcomes_of_contacts', text: forContacts }
    : { name: 'record_outcomes', text: forOthers };
}

/** A batch of a block in the statement's input. Those that were sent have used their places; retries take theirs along. */
function blockRow({ owner, seq, block, outcomes }: BatchRecord) {
  if (!block) return [];
  const used = outcomes.filter(
    ({ queue, giveBack }) => queue === 'enqueue' || (queue === 'delete' && !giveBack),
  );
  return [{ owner, seq, campaignId: block.campaignId, n: block.n, used: used.length }];
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
    .flatMap(({ owner, outcomes, block }) => outcomes.map((outcome) => ({ owner, outcome, block })))
    .sort((one, other) => one.outcome.messageId - other.outcome.messageId);
  let published = 0;
  const input = owned.map(({ owner, outcome, block }) => {
    const events = emailEventsOf(outcome, occurredAt).map((event) => toEventRow(event, published++));
    return events.length === 0
      ? inputRow(outcome, owner, block)
      : { ...inputRow(outcome, owner, block), published: events };
  });
  const outcomes = owned.map(({ outcome }) => outcome);
  const queued = owned.flatMap(({ outcome, block }) => (block ? [] : [outcome]));
  const forCampaigns = outcomes.some(({ message }) => message.class === messageClasses.campaign);
  const { rows } = await client.query<{ counts: number[] }>({
    ...statementFor(statements, outcomes, forCampaigns),
    values: [
      JSON.stringify(input),
      intents.map((batch) => batch.owner),
      intents.map((batch) => batch.seq),
      idsOf(queued, ({ queue }) => queue === 'delete'),
      idsOf(queued, ({ giveBack }) => giveBack),
      idsOf(queued, ({ queue }) => queue !== 'delete'),
      ...(forCampaigns ? [JSON.stringify(batches.flatMap(blockRow))] : []),
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
    forCampaigns: recordSql(publication, table, true, true),
    forContacts: recordSql(publication, table, true),
    forOthers: recordSql(publication, table, false),
  };
  return async (batches) => publication.queuedWork(await recordBatches(pool, statements, batches));
}
