/** The statement that records the outcomes of batches, in the shapes that messages need. */
import { defineStatement } from '../../../platform/db/statements.ts';
import type { Publication } from '../../../platform/events/publish.ts';
import {
  blocksOfSql,
  changedBlocksSql,
  isDividedSql,
  unknownOfBlocksSql,
} from '../blocks/campaign-blocks.ts';
import { CONTACT_COUNTS, contactCtes, setContactSql } from '../effects/contact-effects.ts';
import {
  type Charges,
  type CountedOutcomes,
  countOutcomesSql,
  leaveQueueSql,
} from '../effects/leave-queue.ts';
import { emailEvents } from '../../terms/events.ts';
import { countFlowMessagesSql, messageBeforeSql } from '../effects/flow-counts.ts';
import { countStatsSql } from '../effects/stat-changes.ts';
import { limits, type Limits } from '../limits/authority.ts';
import { messageClasses, messageStatuses, statesBefore, statusList } from '../../terms/message.ts';
import { knownSegmentsSql, segmentsNowSql } from '../effects/rendered-segments.ts';
import { byUnitSql, paidBySegmentSql } from '../../terms/units.ts';
import { suppressionCtes } from '../consent/suppressions.ts';

/**
 * SQL: allows only the transitions in the table of states. Once a message was sent, which a report may already have
 * shown, the only outcome of a hand-over that it accepts is its delivery.
 */
const guardSql = messageStatuses
  .map((status) => `when '${status}' then m.status in (${statusList(statesBefore(status))})`)
  .join('\n        ');

/**
 * SQL: an outcome with a retry does not change a message whose queue row is gone because its sender was taken for dead:
 * nothing would send the message. It stays `unknown`, and a client may request a resend.
 */
const STAYS_UNKNOWN = `and (i.queue not in ('retry', 'postpone') or m.status <> 'unknown' or has_queue_row(m.id))`;

/**
 * SQL: reports about addresses. A hard bounce counts in any state of the message, unless a late report has shown that
 * an earlier attempt was accepted. A soft bounce counts once: only the first record of an outcome changes the message.
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
 * SQL: stores the events of outcomes, except what the message's row itself shows: that it was sent or delivered, when,
 * in which attempt, and with which response. Most messages therefore have no row in `message_events`.
 */
const messageEventsSql = `
    insert into message_events (message_id, attempt, type, data)
    select i."messageId", i.attempt, e.type, jsonb_strip_nulls(jsonb_build_object(
      'provider', i.provider, 'response', i.response, 'failure', i.failure, 'bounce', i.bounce))
    from input i cross join unnest(i.events) as e (type)
    where e.type not in ('sent', 'delivered')
      or (i."messageId", i.attempt) not in (select id, sent_attempt from updated where sent_attempt is not null)
    on conflict do nothing`;

/**
 * SQL for the update of a message `m`: the message is charged from its first attempt with an unknown outcome on, until
 * another attempt shows that it was not sent. A reservation that was returned when the message failed is not charged
 * later.
 */
const chargeChangesSql = `
      unknown_at = case i.status when 'unknown' then coalesce(m.unknown_at, now()) else m.unknown_at end,
      unsent_at = case when m.unsent_at is null and m.sent_at is null
          and (i.status in ('failed', 'bounced') and m.unknown_at is not null or m.status in ('failed', 'bounced'))
        then now() else m.unsent_at end`;

/** SQL over `updated`: whether this statement has set `sent_at`. Both times are the start of its transaction. */
const sentNowSql = 'sent_at = updated_at';

const sentSql = `status in ('sent', 'delivered') and ${sentNowSql}`;

const counted: CountedOutcomes = {
  sentNow: sentSql,
  attempted: `(status in ('sent', 'delivered') and ${sentNowSql} or status = 'bounced')`,
};

/** SQL: counts the messages that this statement has recorded as sent, delivered or bounced for the first time. */
const statsSql = countStatsSql('updated', {
  sent: 'u.sent_at = u.updated_at',
  delivered: 'u.delivered_at = u.updated_at',
  bounced: 'u.bounced_at = u.updated_at',
});

/** SQL: the effects on contacts. A message cannot change between `bounced` and `failed`, so it counts once. */
const contactSql = contactCtes({ sentNow: sentSql, failedNow: `status in ('bounced', 'failed')` });

/** SQL over the block `b` and the outcome `i` of a text: the most segments that its version may take. */
const segmentsSql = `coalesce((b.price_list -> i."messageId"::text ->> 1)::smallint, (
        select v.segments from campaigns c join template_versions v on v.id = c.version_ids[b.variant + 1]
        where c.id = b.campaign_id))`;

/**
 * SQL: creates queue rows for campaign messages that are tried again. A row takes over the place that the block has
 * reserved for its message. Its lifetime begins with the first attempt. The block returns the price, and the row
 * reserves it when it is claimed. If the reaper took the sender for dead and charged the message as unknown, the row
 * reserves nothing more. The reaper locks blocks, too: once they are locked here, its charges are committed.
 */
const enqueuedSql = (priced: boolean): string => `, enqueued as (
    insert into send_queue (message_id, account_id, channel, class, due_at, queued_at, attempt_count, connection_losses,
      domain_id, provider_id, content_bytes, campaign_id, reserved_bucket, price_month, price_millicents, price_units, price_country)
    select i."messageId", b.account_id, b.channel, ${messageClasses.campaign}, now() + make_interval(secs => i."delaySeconds"),
      now(), i.attempt - case when i.losses > 0 then 1 else 0 end, coalesce(i.losses, 0), b.domain_id, b.provider_id,
      coalesce(i.bytes, 0), b.campaign_id, b.reserved_bucket,
      case when p.charged then current_month() end, case when p.charged then 0 end,
      case when p.charged then 0 when ${paidBySegmentSql('b.channel')} then ${segmentsSql} end,
      ${byUnitSql('b.channel', { message: null, segment: `(select phone_country(m.to_key) from messages m where m.id = i."messageId")` })}
    from input i join campaign_blocks b on b.campaign_id = i."campaignId" and b.n = i.block
    cross join lateral (select ${priced ? `has_unknown_charge(i."messageId")` : 'false'} as charged offset 0) p
    where i.queue = 'enqueue'${priced ? ' and (select count(*) from changed_blocks) >= 0' : ''}
    on conflict (message_id) do nothing
  )`;

/**
 * SQL over the block `b`: what those of its batches have used whose intents this statement ends.
 * @param sum SQL over the batches `t` and the joined tables
 */
const usedOfBatches = (sum: string, join = ''): string => `(
      select ${sum} from batches t join intents e on e.owner = t.owner and e.seq = t.seq ${join}
      where t.campaign_id = b.campaign_id and t.n = b.n)`;

/**
 * SQL: marks the blocks of changed messages for a recount. $7 are the blocks of the batches, with the number of places
 * that their messages have used or that moved to queue rows. If the intent is gone, these places were subtracted
 * before.
 */
const blocksSql = (priced: boolean): string => `, batches as materialized (
    select * from json_to_recordset($7) as b (
      owner bigint, seq bigint, campaign_id bigint, n int, used int, attempted int, charged int, texts jsonb,
      first_id bigint, last_id bigint)
  )${changedBlocksSql(
    `${blocksOfSql(`
        select campaign_id, id from updated
        where campaign_id is not null
          and (id not in (select "messageId" from input where block is not null) or ${isDividedSql})`)}
      union all select campaign_id, n from batches`,
    {
      places: usedOfBatches('coalesce(sum(t.used), 0)::int'),
      attempted: usedOfBatches('coalesce(sum(t.attempted), 0)::int'),
      ...(priced
        ? {
            emails: usedOfBatches('coalesce(sum(t.charged), 0)::int'),
            texts: usedOfBatches(
              'jsonb_object_agg(x.key, x.value)',
              'cross join lateral jsonb_each(t.texts) x',
            ),
          }
        : {}),
    },
  )}${
    priced
      ? unknownOfBlocksSql(`
        select campaign_id, block as n, "messageId" as id from (
          select i."campaignId" as campaign_id, i.block, i."messageId" from input i
          where i.block is not null and i.status = 'unknown' and i.queue = 'delete') u`)
      : ''
  }`;

/** What kinds of messages a statement may record. Parts that no message needs are left out. */
interface RecordShape {
  /** Whether recipients may be contacts. */
  forContacts: boolean;
  forCampaigns?: boolean;
  /**
   * Whether messages may be of flows, or texts that are rendered when they are sent. Their effects depend on the
   * columns before the update.
   */
  forFlows?: boolean;
  /** Whether messages may have reserved their price. */
  priced?: boolean;
}

const withoutMoney = (table: Limits): Limits => table.filter(({ refusal }) => !refusal);

/** The charges of messages that leave the queue, or have left it as `unknown`. */
const charges = (forFlows: boolean): Charges => ({
  unknown: `array(select "messageId" from input where status = 'unknown')`,
  kept: 'select "messageId" as message_id, keep from input where keep is not null',
  cleared: 'array(select id from updated where unsent_at = updated_at)',
  ...(forFlows ? { lowered: 'select id, segments from known_segments where segments < was_segments' } : {}),
});

/** SQL: removes queue rows, and returns what their messages have reserved but not used. */
const leavingSql = (table: Limits, { priced = false, forFlows = false }: RecordShape): string =>
  priced
    ? leaveQueueSql('$4', '$5', table, charges(forFlows))
    : leaveQueueSql('$4', '$5', withoutMoney(table));

/** SQL: columns of the input that only some shapes have. */
const furtherColumns = (forCampaigns: boolean, priced: boolean): string =>
  [
    priced ? ', keep int' : '',
    forCampaigns ? ', "campaignId" bigint, block int, losses smallint, bytes int, "versionId" bigint' : '',
  ].join('');

/** SQL: additional parts for texts that are rendered when they are sent. */
const textsSql = ({ forFlows = false }: RecordShape) =>
  forFlows
    ? {
        columns: ', segments smallint',
        assignments: `, segments = ${segmentsNowSql(`i.status = 'unknown'`, 'i.segments')}`,
        ctes: knownSegmentsSql,
      }
    : { columns: '', assignments: '', ctes: '' };

/**
 * SQL: all effects of outcomes in one statement, and so in one transaction. Outcomes are keyed by message and attempt:
 * they are recorded no matter which process now owns the queue row, and recording them twice changes nothing. Queue
 * rows are looked up by their keys, as in a claim.
 */
const recordSql = (publication: Publication, table: Limits, shape: RecordShape): string => {
  const { forContacts, forCampaigns = false, forFlows = false, priced = false } = shape;
  const texts = textsSql(shape);
  return `
  with input as (
    select * from json_to_recordset($1) as i (
      "messageId" bigint, attempt smallint, epoch int, status text, events text[], queue text, "delaySeconds" int,
      provider text, "providerMessageId" text, response text, failure jsonb, bounce jsonb,
      suppress boolean, "accountId" bigint, "addressKey" text, channel text, owner bigint, published json${furtherColumns(forCampaigns, priced)}${texts.columns})
  ), intents as (
    delete from handovers h using unnest($2::bigint[], $3::bigint[]) as e (owner, seq)
    where h.owner = e.owner and h.seq = e.seq ${forCampaigns ? 'returning h.owner, h.seq' : ''}
  ), updated as (
    update messages m set
      status = i.status,
      attempt_count = greatest(m.attempt_count, i.attempt),
      sent_at = case when i.status in ('sent', 'delivered') then coalesce(m.sent_at, now()) else m.sent_at end,
      delivered_at = case i.status when 'delivered' then coalesce(m.delivered_at, now()) else m.delivered_at end,
      bounced_at = case i.status when 'bounced' then coalesce(m.bounced_at, now()) else m.bounced_at end,
      provider = coalesce(i.provider, m.provider),
      provider_message_id = coalesce(i."providerMessageId", m.provider_message_id),
      sent_attempt = case when i.status in ('sent', 'delivered') then coalesce(m.sent_attempt, i.attempt)
        else m.sent_attempt end,
      response = case when i.status in ('sent', 'delivered') and m.sent_attempt is null then i.response
        else m.response end,
      failure = i.failure, bounce = coalesce(i.bounce, m.bounce), hold = null, updated_at = now(), ${chargeChangesSql}
      ${forContacts ? setContactSql : ''}${texts.assignments}${forCampaigns ? ', content_version_id = coalesce(i."versionId", m.content_version_id)' : ''}
    from input i${forFlows ? ` ${messageBeforeSql('i."messageId"')}` : ''}
    where m.id = i."messageId" and case i.status
        ${guardSql} end
      and (m.sent_at is null or i.status = 'delivered')
      ${STAYS_UNKNOWN}
    returning m.*, i.published${forFlows ? ', was.*' : ''}
  )${texts.ctes}${leavingSql(table, shape)}, requeued as (
    update send_queue q set owner = null,
      due_at = case when i.queue in ('retry', 'postpone') then now() + make_interval(secs => i."delaySeconds")
        else q.due_at end,
      attempt_count = case i.queue when 'retry' then greatest(q.attempt_count, i.attempt) else q.attempt_count end
    from input i
    where i.queue <> 'delete' and q.message_id = any($6) and q.message_id = i."messageId"
      and q.owner = i.owner and q.claim_epoch = i.epoch
  ), events as (${messageEventsSql}
  )${forFlows ? countFlowMessagesSql('updated') : ''}${forCampaigns ? blocksSql(priced) + enqueuedSql(priced) : ''}${suppressionCtes(addressReportsSql)}${forContacts ? contactSql : ''}${countOutcomesSql(
    forContacts ? { ...counted, after: CONTACT_COUNTS } : counted,
  )}${statsSql}, new_events as materialized (
    select gen_random_uuid() as id, e.*
    from updated u cross join json_to_recordset(u.published) as e (${publication.columns})
    where not u.test and (e.type <> '${emailEvents.sent.type}' or ${sentNowSql}) and ${publication.interest('u.brand_id')}
  ), ${publication.ctes}
  select ${publication.counts} as counts`;
};

const shapes = {
  record_outcomes: { forContacts: false },
  record_outcomes_of_contacts: { forContacts: true },
  record_outcomes_in_blocks: { forContacts: true, forCampaigns: true },
  record_outcomes_of_flows: { forContacts: true, forFlows: true },
  record_outcomes_of_flows_and_blocks: { forContacts: true, forCampaigns: true, forFlows: true },
  record_priced_outcomes: { forContacts: true, priced: true },
  record_priced_outcomes_of_flows_and_blocks: {
    forContacts: true,
    forCampaigns: true,
    forFlows: true,
    priced: true,
  },
} as const satisfies Record<string, RecordShape>;

export type RecordShapeName = keyof typeof shapes;

/** Whether the statement has the last parameter, the blocks of the batches. */
export const takesBlocks = (name: RecordShapeName): boolean =>
  (shapes[name] as RecordShape).forCampaigns === true;

/** What the statement depends on besides its shape. */
export interface RecordingParts {
  publication: Publication;
  limits?: Limits;
}

/** Everything that follows from the outcomes of batches. */
export const recordStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'recordBatches',
  does: 'Records what became of batches that were given to providers, and all that follows from it.',
  parameters: [
    'json: the outcomes, a row for each message',
    'bigint[]: the processes whose intents end',
    'bigint[]: and the numbers of these intents',
    'bigint[]: the messages that leave the queue',
    'bigint[]: those of them that get back what they have reserved',
    'bigint[]: the messages that stay in the queue',
    'json: the blocks of the batches, with what each batch has used of its block',
  ],
  shapes,
  when: {
    record_outcomes: 'transactional messages of accounts without contacts',
    record_outcomes_of_contacts: 'transactional messages whose recipients may be contacts',
    record_outcomes_in_blocks: 'emails of campaigns, and transactional messages',
    record_outcomes_of_flows: 'messages of flows, and transactional ones',
    record_outcomes_of_flows_and_blocks: 'messages of flows and campaigns, or texts of campaigns',
    record_priced_outcomes: 'transactional messages that give back some of what they have reserved',
    record_priced_outcomes_of_flows_and_blocks: 'messages of any class that have reserved what they cost',
  },
  version: 5,
  compose: (shape: RecordShape, { publication, limits: table = limits }: RecordingParts) =>
    recordSql(publication, table, shape),
});
