import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineStatement } from '../../../platform/db/statements.ts';
import { campaignsToSendSql } from '../ownership/campaign-lock.ts';
import { decidedLimitsSql, type Limits, verdictSql } from '../limits/authority.ts';
import { blockLimits } from '../limits/block-limits.ts';
import { messageClasses } from '../../terms/message.ts';
import { unappliedOptOutsSql } from '../consent/unapplied-opt-outs.ts';
import type { BatchMessage, CampaignPart } from './batch.ts';
import type { BlockClaim } from '../ownership/claims.ts';
import {
  campaignCases,
  type CampaignBatchRequest,
  contactValuesSql,
  MAX_VALUE,
  withoutOptedOut,
} from './campaign-batch.ts';
import { noPriceCase } from './checked-sql.ts';

/**
 * Contact fields that most contents use. They are columns of the result, because building JSON for every message costs
 * more.
 */
const texts = ['first_name', 'last_name', 'email', 'phone', 'country_code', 'source'] as const;

const quoted = texts.map((name) => `'${name}'`).join(', ');

/** SQL: which contact fields a version uses: a boolean for each common field, and an array of all other paths. */
const namedSql = `${texts.map((name) => `'${name}' = any(v.paths) as ${name}`).join(', ')},
        array(select p from unnest(v.paths) as p where p not in (${quoted})) as further`;

/** SQL: the texts of the contact `k` that the version `v` names. */
const textsSql = texts
  .map((name) => `case when v.${name} then left(k.${name}, ${MAX_VALUE}) end as ${name}`)
  .join(', ');

/**
 * Columns of `messages` that are the same for all messages of a block: one statement has written them from the row of
 * the campaign. They are returned once, because formatting and parsing each takes time. They are read from a message
 * that is not `gone`, if there is one, because such a message may belong to another campaign.
 */
const blockColumns = ['brand_id', 'created_at', 'from_address', 'reply_to', 'tracking'] as const;

/** The money that an SMS in the block `q` has reserved. */
const reservedInBlock = {
  millicents: '(q.price_list -> m.id::text ->> 0)::bigint',
  none: `q.price_list -> m.id::text -> 0 = 'null'::jsonb`,
};

/** Without the limit on missing contents: the content of these messages is never stored. */
const table: Limits = blockLimits.filter(({ name }) => name !== 'content_missing');

/**
 * SQL: checks batches of a block and writes an intent for each. Values shared by all messages are read and decided
 * once, and returned with the first message. `$1` to `$9` are as in `batch.ts`, but `$2` has one intent number per
 * message; `$10` and `$11` complete the block's key.
 */
const blockSql = `
    with alive as (
      select id from processes where id = $1 for key share
    ), block as materialized (
      select b.*, now() as queued_at from campaign_blocks b
      where b.campaign_id = $5 and b.n = $10 and b.claim_epoch = $11 and b.owner = (select id from alive)
        and b.closed_at is null
    ), locked as materialized (
      select * from accounts_to_send(array(select account_id from block)) limit 1
    ), campaign as materialized (
      -- Accounts are locked first.
      ${campaignsToSendSql('array(select campaign_id from block where (select count(*) from locked) > 0)')} limit 1
    ), claimed as materialized (
      select q.*${decidedLimitsSql(table)} from block q cross join locked a limit 1
    ), versions as materialized (
      -- The content of a campaign may have changed since its recipients were written.
      select v.id, ${namedSql} from template_versions v where v.id = any(array(select unnest(version_ids) from campaign))
    ), checked as materialized (
      select i.seq, m.id, m.attempt_count + 1 as attempt, m.to_address, m.subject, m.tags, m.idempotency_key, m.segments,
        m.variant, m.contact_id, v.id as version_id, ${blockColumns.map((name) => `m.${name}`).join(', ')},
        -- A claim that the database forgot in a crash may be made again, with the same epoch, of a part of the block.
        case when m.status <> 'queued' or m.campaign_id is distinct from q.campaign_id
          or m.id not between q.first_id and q.last_id then 'gone'${campaignCases(
            `p.status = 'active' and v.id is not null`,
          )}${noPriceCase(reservedInBlock)}
          else ${verdictSql(table, true)} end as verdict,
        ${textsSql}, ${contactValuesSql('v.further')} as further
      from claimed q cross join locked a left join campaign p on true
      cross join (select $8::boolean as plus_addresses) settings
      cross join unnest($4::bigint[], $2::bigint[]) as i (message_id, seq)
      cross join lateral (
        select * from messages m where m.id = i.message_id and m.id between $6 and $7 offset 0) m
      left join lateral (select * from contacts k where k.id = m.contact_id offset 0) k on true
      left join versions v on v.id = p.version_ids[coalesce(m.variant, 0) + 1]
    ), intent as (
      insert into handovers (owner, seq, provider, message_ids, attempts, report_seconds, campaign_id, block_n, block_epoch)
      select $1, seq, $3, array_agg(id order by id), array_agg(attempt order by id), $9, $5, $10, $11
      from checked where verdict = 'send' group by seq
    ), shared as materialized (
      select q.account_id, q.domain_id, q.channel, q.provider_id, q.queued_at, q.price_month is not null as priced,
        a.has_contacts, p.name, f.*, (
          -- After the locks: it sees what is committed then.
          select ${unappliedOptOutsSql('c.brand_id', 'c.channel')} from campaigns c where c.id = p.id) as unapplied
      from claimed q cross join locked a left join campaign p on true
      left join (
        select ${blockColumns.join(', ')} from checked order by verdict = 'gone', id limit 1) f on true
    )
    select c.id, c.seq, c.attempt, c.verdict, c.to_address, c.subject, c.tags, c.idempotency_key, c.segments, c.variant, c.contact_id, c.version_id,
      ${texts.map((name) => `c.${name}`).join(', ')}, c.further, s.*
    from (select *, row_number() over (order by id) as row from checked) c left join shared s on c.row = 1
    order by c.id`;

export const blockIntentStatement = defineStatement({
  from: import.meta.url,
  sentBy: 'intendBatches',
  does: 'Checks batches of a block and writes an intent for each batch.',
  parameters: [
    'bigint: the process',
    'bigint[]: the intent number of each message',
    'text: the provider',
    'bigint[]: the messages',
    'bigint: the campaign',
    'bigint: the lowest id of the messages',
    'bigint: the highest id of the messages',
    'boolean: whether to ignore tags such as +news when comparing addresses',
    'integer: seconds to wait for a report if the process dies',
    'integer: the number of the block',
    'integer: the epoch of its claim',
  ],
  shapes: { intend_in_block: {} },
  version: 3,
  compose: () => blockSql,
});

/** Columns that the first row returns for all messages. */
interface SharedColumns {
  account_id: number;
  domain_id: number | null;
  channel: BatchMessage['channel'];
  provider_id: number;
  queued_at: Date;
  priced: boolean;
  has_contacts: boolean;
  name: string | null;
  unapplied: Buffer[] | null;
  brand_id: number;
  created_at: Date;
  from_address: string | null;
  reply_to: string | null;
  tracking: BatchMessage['tracking'];
}

type Texts = Record<(typeof texts)[number], string | null>;

interface CheckedRow extends Texts, SharedColumns {
  seq: number;
  id: number;
  attempt: number;
  verdict: BatchMessage['verdict'];
  to_address: string;
  subject: string | null;
  tags: Record<string, string> | null;
  idempotency_key: string | null;
  segments: number | null;
  variant: number | null;
  contact_id: number;
  version_id: number | null;
  further: CampaignPart['contact'] | null;
}

function contactOf(row: CheckedRow): CampaignPart['contact'] {
  const contact: CampaignPart['contact'] = row.further ?? {};
  for (const name of texts) {
    const value = row[name];
    if (value !== null) contact[name] = value;
  }
  return contact;
}

function messageOf(row: CheckedRow, shared: SharedColumns, { campaignId, epoch }: BlockClaim): BatchMessage {
  return {
    messageId: row.id,
    attempt: row.attempt,
    epoch,
    uncertain: false,
    priced: shared.priced,
    verdict: row.verdict,
    accountId: shared.account_id,
    brandId: shared.brand_id,
    hasContacts: shared.has_contacts,
    domainId: shared.domain_id,
    channel: shared.channel,
    class: messageClasses.campaign,
    providerId: shared.provider_id,
    queuedAt: shared.queued_at,
    createdAt: shared.created_at,
    to: row.to_address,
    from: shared.from_address,
    replyTo: shared.reply_to,
    subject: row.subject,
    html: null,
    text: null,
    headers: null,
    tags: row.tags,
    tracking: shared.tracking,
    idempotencyKey: row.idempotency_key,
    segments: row.segments,
    contentVersionId: row.version_id,
    campaign: {
      id: campaignId,
      name: shared.name ?? '',
      variant: row.variant ?? 0,
      contactId: row.contact_id,
      contact: contactOf(row),
    },
  };
}

/** Batches of one owner and provider. */
type Batches = readonly [CampaignBatchRequest, ...CampaignBatchRequest[]];

function valuesOf(batches: Batches, { campaignId, n, epoch }: BlockClaim): unknown[] {
  const [{ owner, provider, plusAddresses = false, reportSeconds = 0 }] = batches;
  const messages = batches.flatMap(({ seq, claims }) => claims.map(({ messageId }) => ({ seq, messageId })));
  const ids = messages.map(({ messageId }) => messageId);
  const bounds = [Math.min(...ids, Number.MAX_SAFE_INTEGER), Math.max(...ids, 0)];
  const seqs = messages.map(({ seq }) => seq);
  return [owner, seqs, provider, ids, campaignId, ...bounds, plusAddresses, reportSeconds, n, epoch];
}

/**
 * Checks messages of a block before their first attempt and writes the intents, as `intendBatch` does for queue rows. A
 * claim is valid only while the block still has its owner and epoch. Campaign and account are locked in share mode, so
 * a pause waits until the intents are committed. The statement is half of the cost of a batch, so batches of a block
 * share one.
 * @param batches of one owner and provider
 * @returns the messages of each batch with their verdicts; an empty list for each batch if the claim is no longer valid
 */
export async function intendBatches(
  client: Queryable,
  batches: Batches,
  block: BlockClaim,
): Promise<BatchMessage[][]> {
  const values = valuesOf(batches, block);
  const { rows } = await client.query<CheckedRow>({
    ...blockIntentStatement.prepared('intend_in_block'),
    values,
  });
  const bySeq = new Map(batches.map(({ seq }) => [seq, [] as BatchMessage[]]));
  const [shared] = rows;
  for (const row of rows) bySeq.get(row.seq)?.push(messageOf(row, shared as SharedColumns, block));
  const unapplied = shared?.unapplied ?? null;
  return batches.map((request) => {
    const messages = bySeq.get(request.seq) ?? [];
    if (unapplied === null) return messages;
    return withoutOptedOut(
      messages.map((message) => ({ ...message, unapplied })),
      request,
    );
  });
}

/** Like {@link intendBatches}, for one batch. */
export async function intendBlock(
  client: Queryable,
  request: CampaignBatchRequest,
  block: BlockClaim,
): Promise<BatchMessage[]> {
  return (await intendBatches(client, [request], block))[0] ?? [];
}
