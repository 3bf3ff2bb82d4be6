import type { Queryable } from '../../../platform/db/queryable.ts';
import { defineSql } from '../../../platform/db/sql/define.ts';
import { decidedLimitsSql, type Limits, verdictSql } from '../limits/authority.ts';
import { blockLimits } from '../limits/block-limits.ts';
import { messageClasses } from '../../terms/message.ts';
import type { BatchMessage, BatchRequest, CampaignPart } from './batch.ts';
import type { BlockClaim } from '../ownership/claims.ts';
import { withoutOptedOut } from './opted-out.ts';
import { contactValuesSql, noPriceInBlockCase, recipientCases } from './recipient-sql.ts';

/** Contact fields that most contents use: columns of the result. */
const texts = ['first_name', 'last_name', 'email', 'phone', 'country_code', 'source'] as const;

/** Without the limit on missing contents: the content of these messages is never stored. */
const withoutContents = (table: Limits): Limits => table.filter(({ name }) => name !== 'content_missing');

export const intendInBlockSql = defineSql(import.meta.url, './intend_in_block.sql', {
  table: blockLimits,
  regions: {
    decided: (table) => decidedLimitsSql(withoutContents(table)),
    recipient: () => recipientCases,
    no_price: () => noPriceInBlockCase,
    verdict: (table) => verdictSql(withoutContents(table), true),
    contact_values: () => contactValuesSql('v.further'),
  },
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
type Batches = readonly [BatchRequest, ...BatchRequest[]];

function valuesOf(batches: Batches, { campaignId, n, epoch }: BlockClaim): unknown[] {
  const [{ owner, provider, plusAddresses = false, reportSeconds = 0 }] = batches;
  const messages = batches.flatMap(({ seq, claims }) => claims.map(({ messageId }) => ({ seq, messageId })));
  const ids = messages.map(({ messageId }) => messageId);
  const bounds = [Math.min(...ids, Number.MAX_SAFE_INTEGER), Math.max(...ids, 0)];
  const seqs = messages.map(({ seq }) => seq);
  return [owner, seqs, provider, ids, campaignId, ...bounds, plusAddresses, reportSeconds, n, epoch];
}

/**
 * Checks messages of a block before their first attempt and writes the intents, as `intendMessages` does for queue rows. A
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
  const { rows } = await client.query<CheckedRow>({ ...intendInBlockSql, values });
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
  request: BatchRequest,
  block: BlockClaim,
): Promise<BatchMessage[]> {
  return (await intendBatches(client, [request], block))[0] ?? [];
}
