import type { Queryable } from '../../../platform/db/queryable.ts';
import { type Refusal, verdictSql } from '../../limits/authority.ts';
import type { Channel, SkipCode } from '../../message.ts';
import type { ClaimId } from '../claim/claim.ts';
import type { MessageTracking } from '../compose/tracked-links.ts';

/** A message of a batch, with what composing it needs. */
export interface BatchMessage {
  messageId: number;
  attempt: number;
  /** The epoch of the claim under which the message is handed over. */
  epoch: number;
  /** The outcome of an earlier attempt is not known: the message may have arrived. */
  uncertain: boolean;
  /** It has reserved what it costs. */
  priced?: boolean;
  /** `send`, or what refuses the message: a limit, or what concerns campaigns only. */
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
   * With a row of contents: what the message was rendered from. Without: the message is rendered from this version when
   * it is composed.
   */
  contentVersionId: number | null;
  /** Of a campaign's message; null: the message belongs to none. */
  campaign: CampaignPart | null;
  /** Of a flow's message. */
  flow?: FlowPart | null;
}

/** Why a message of a campaign or flow is not sent now: what it belongs to is not active, or is over for the message. */
export type StoppedRefusal = 'campaign_stopped' | 'flow_stopped' | 'flow_ended';

/** Why a message of a campaign or flow is not sent besides the limits: see above, or the contact must be skipped. */
export type CampaignRefusal =
  StoppedRefusal | Extract<SkipCode, 'unsubscribed' | 'contact_deleted' | 'no_address' | 'no_price'>;

/** What a campaign's message has besides. */
export interface CampaignPart {
  id: number;
  name: string;
  /** Of an A/B test, counted from 0. */
  variant: number;
  contactId: number;
  /**
   * Values of the contact by the paths that the version names, such as `first_name` and `data.plan`. Paths without a
   * value are absent. A text has at most 2,048 characters; a longer object or array is absent.
   */
  contact: Record<string, unknown>;
}

/** What a flow's message has besides. */
export interface FlowPart extends Pick<CampaignPart, 'id' | 'contact'> {
  /** Null: the message was not written by a run. */
  contactId: number | null;
  /** What contents read as `event`: of the event that started the run. */
  event: Record<string, unknown> | null;
}

export interface BatchRequest {
  owner: number;
  /** Identifies the intent among those of the owner. The owner chooses it and never uses it again. */
  seq: number;
  provider: string;
  /** How long a message waits for a report before it is handed over again if this process dies; by default 0. */
  reportSeconds?: number;
  claims: readonly ClaimId[];
  /** Whether a suppression of `ada@example.com` also covers `ada+news@example.com`, and the other way round. */
  plusAddresses?: boolean;
}

/**
 * Checks a batch of claims against the limits and writes the intent for the messages that may leave, in one statement.
 * The owner's row in `processes` is the fence: a process that was taken for dead cannot write one. Accounts are read
 * under shared locks that a pause waits for, so that once a pause is confirmed, no intent can be written that has not
 * seen it.
 * @returns the messages whose claims are still valid, with their verdicts; the intent covers those with `send`
 */
export async function intendBatch(client: Queryable, request: BatchRequest): Promise<BatchMessage[]> {
  const ids = request.claims.map((claim) => claim.messageId);
  const { rows } = await client.query<BatchMessage>({
    name: 'intend_batch',
    text: `
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
    from checked order by id`,
    values: [
      request.owner,
      request.seq,
      request.provider,
      ids,
      request.claims.map((claim) => claim.epoch),
      // Bounds that no id has if there are no claims.
      Math.min(...ids, Number.MAX_SAFE_INTEGER),
      Math.max(...ids, 0),
      request.plusAddresses ?? false,
      request.reportSeconds ?? 0,
    ],
  });
  return rows;
}

/**
 * Removes the intents of a live owner that it does not know, because the reply to their commit was lost. No message was
 * handed over under them.
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
