import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import { type Refusal, verdictSql } from '../limits/authority.ts';
import type { Channel, SkipCode } from '../../terms/message.ts';
import type { AnsweredMail } from '../../content/mime/answer-headers.ts';
import type { ClaimId } from '../ownership/claims.ts';
import type { MessageTracking } from '../../content/mime/tracked-links.ts';

/** A message of a batch, with everything needed to compose it. */
export interface BatchMessage {
  messageId: number;
  attempt: number;
  /** The epoch of the claim under which the message is handed over. */
  epoch: number;
  /** Whether an earlier attempt has no known outcome, so that the message may have arrived. */
  uncertain: boolean;
  /** Whether the message has reserved its price. */
  priced?: boolean;
  /** `send`, or the reason for not sending: a limit, or a reason that only campaigns and flows have. */
  verdict: 'send' | Refusal | CampaignRefusal;
  accountId: number;
  brandId: number;
  /** Whether the account has contacts, so that the recipient may be one. */
  hasContacts: boolean;
  /** The sending domain; null: an address of the service, or an SMS. */
  domainId: number | null;
  channel: Channel;
  class: number;
  providerId: number;
  queuedAt: Date;
  createdAt: Date;
  to: string;
  from: string | null;
  replyTo: string | null;
  subject: string | null;
  html: string | null;
  text: string | null;
  headers: Record<string, string> | null;
  tags: Record<string, string> | null;
  tracking: MessageTracking | null;
  idempotencyKey: string | null;
  segments: number | null;
  /**
   * The version that the message was rendered from, if its content is stored; else the version that it is rendered from
   * when it is composed.
   */
  contentVersionId: number | null;
  /** Set for messages of campaigns; else null. */
  campaign: CampaignPart | null;
  /** Set for messages of flows. */
  flow?: FlowPart | null;
}

/**
 * Why a message of a campaign or flow is not sent now: the campaign or flow is not active, or has ended for the
 * message.
 */
export type StoppedRefusal = 'campaign_stopped' | 'flow_stopped' | 'flow_ended';

/**
 * Why a message of a campaign or flow is not sent, apart from limits: {@link StoppedRefusal}, or the recipient is
 * skipped.
 */
export type CampaignRefusal =
  StoppedRefusal | Extract<SkipCode, 'unsubscribed' | 'contact_deleted' | 'no_address' | 'no_price'>;

/** Additional fields of a campaign's message. */
export interface CampaignPart {
  id: number;
  name: string;
  /** The variant of an A/B test, from 0. */
  variant: number;
  contactId: number;
  /**
   * Values of the contact, by the paths that the version names, such as `first_name` and `data.plan`. Paths without a
   * value are absent. Texts are cut to 2,048 characters; longer objects and arrays are absent.
   */
  contact: Record<string, unknown>;
}

/** Additional fields of a flow's message. */
export interface FlowPart extends Pick<CampaignPart, 'id' | 'contact'> {
  /** Null if no flow run wrote the message. */
  contactId: number | null;
  /** What contents read as `event`: the event that started the run. */
  event: Record<string, unknown> | null;
  /** The mail that the message answers; null: it answers none. */
  answers: AnsweredMail | null;
}

export interface BatchRequest {
  owner: number;
  /** Identifies the intent among those of the owner, which never uses a number twice. */
  seq: number;
  provider: string;
  /** How long a message waits for a report before it is handed over again if this process dies; by default 0. */
  reportSeconds?: number;
  claims: readonly ClaimId[];
  /** Whether a suppression of `ada@example.com` also covers `ada+news@example.com`, and vice versa. */
  plusAddresses?: boolean;
}

const batchSql = () => `
    with alive as (
      select id from processes where id = $1 for key share
    ), claimed as (
      select q.* from unnest($4::bigint[], $5::int[]) as b (message_id, epoch)
      -- "offset 0" makes this fifty look-ups by key, never a scan of all rows of the owner.
      cross join lateral (select * from send_queue s where s.message_id = b.message_id offset 0) q
      where q.claim_epoch = b.epoch and q.owner = (select id from alive)
    ), locked as materialized (
      select * from accounts_to_send(array(select distinct account_id from claimed))
    ), checked as (
      select m.*, q.claim_epoch as epoch, q.attempt_count + 1 as attempt, q.queued_at, q.provider_id, q.domain_id,
        q.price_month is not null as priced, a.has_contacts, c.html, c.text, c.headers,
        ${verdictSql()} as verdict,
        -- Looks up events of retried messages only.
        q.attempt_count > 0 and exists (
          select 1 from message_events e
          where e.message_id = m.id and e.message_id between $6 and $7 and e.type = 'unknown' offset 0) as uncertain
      from claimed q cross join (select $8::boolean as plus_addresses) settings
      -- The bounds of all ids let PostgreSQL leave out partitions before it opens them.
      cross join lateral (
        select * from messages m where m.id = q.message_id and m.id between $6 and $7 offset 0) m
      join locked a on a.id = m.account_id
      left join lateral (
        select * from message_contents c
        where c.message_id = q.message_id and c.message_id between $6 and $7 offset 0) c on true
    ), intent as (
      insert into handovers (owner, seq, provider, message_ids, attempts, report_seconds)
      select $1, $2, $3, array_agg(id order by id), array_agg(attempt order by id), $9
      from checked where verdict = 'send' having count(*) > 0
    )
    select id as "messageId", attempt, epoch, uncertain, priced, verdict, has_contacts as "hasContacts", account_id as "accountId", brand_id as "brandId", domain_id as "domainId", channel, class,
      provider_id as "providerId", queued_at as "queuedAt", created_at as "createdAt", to_address as "to", from_address as "from",
      reply_to as "replyTo", subject, html, text, headers, tags, tracking,
      idempotency_key as "idempotencyKey", segments, content_version_id as "contentVersionId", null as campaign
    from checked order by id`;

/** The parameters of a statement that writes an intent for messages of the queue. */
export const intentParameters = [
  'bigint: the process',
  'bigint: the number of the intent',
  'text: the provider',
  'bigint[]: the messages',
  'integer[]: the epochs of their claims',
  'bigint: the first message',
  'bigint: the last message',
  'boolean: whether to ignore tags such as +news when comparing addresses',
  'integer: seconds to wait for a report if the process dies',
];

export const batchIntentStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'intendBatch',
  does: 'Checks a batch of transactional messages and writes the intent for those that may leave.',
  parameters: intentParameters,
  shapes: { intend_batch: {} },
  version: 3,
  compose: batchSql,
});

/**
 * Checks a batch of claims against the limits and writes the intent for the messages that may leave, in one statement.
 * The owner's row in `processes` is the fence: a process that was taken for dead cannot write one. Accounts are read
 * under shared locks that a pause waits for, so that once a pause is confirmed, no later intent can miss it.
 * @returns the messages whose claims are still valid, with their verdicts; the intent covers those with `send`
 */
export async function intendBatch(client: Queryable, request: BatchRequest): Promise<BatchMessage[]> {
  const ids = request.claims.map((claim) => claim.messageId);
  const { rows } = await client.query<BatchMessage>({
    ...batchIntentStatement.prepared('intend_batch'),
    values: [
      request.owner,
      request.seq,
      request.provider,
      ids,
      request.claims.map((claim) => claim.epoch),
      // Without claims, these bounds contain no id.
      Math.min(...ids, Number.MAX_SAFE_INTEGER),
      Math.max(...ids, 0),
      request.plusAddresses ?? false,
      request.reportSeconds ?? 0,
    ],
  });
  return rows;
}

/**
 * Removes intents of a live owner that the owner does not know, because the reply to their commit was lost. No message
 * was handed over under them.
 * @param liveSeqs the intents that the owner is working on
 */
export async function dropUnknownIntents(
  client: Queryable,
  owner: number,
  liveSeqs: number[],
): Promise<void> {
  await client.query(
    `delete from handovers where owner = $1 and seq <> all($2::bigint[]) and intended_at < now() - interval '10 seconds'`,
    [owner, liveSeqs],
  );
}
