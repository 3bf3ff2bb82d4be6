/** Campaigns with a complete snapshot, as the workflow leaves them. */
import { claimBlock } from '../../src/delivery/ledger/blocks/claim-blocks.ts';
import type { Claim } from '../../src/delivery/ledger/ownership/claims.ts';
import type { Database } from '../../src/platform/db/database.ts';
import type { QueuedAccount } from './queued.ts';
import { TEST_LIMITS } from './sending.ts';

export interface WrittenCampaign {
  campaignId: number;
  versionId: number;
  contactIds: number[];
  /** The ids of the recipients' messages, in the order of the contacts. */
  messageIds: number[];
}

interface CampaignOptions {
  recipients: number;
  blockSize?: number;
  /** The prefix of the recipients' addresses: `<prefix>1@example.com` and so on. */
  prefix?: string;
  /** Paths of the contact's values that the content uses. */
  paths?: string[];
  domainId?: number;
  providerId?: number;
}

async function writeVersion({ pool }: Database, { accountId, brandId }: QueuedAccount, paths: string[]) {
  const { rows } = await pool.query<{ id: number }>(
    `with template as (
       insert into templates (account_id, brand_id, channel, name, subject, body)
       values ($1, $2, 'email', 'Sale', 'Sale', '<p>Sale</p>') returning id)
     insert into template_versions (template_id, account_id, brand_id, channel, content_hash, subject, html, text, paths)
     select id, $1, $2, 'email', decode(md5(random()::text), 'hex'), 'Sale', '<p>Hi {{ contact.first_name }}</p>',
       'Hi {{ contact.first_name }}', $3 from template
     returning id`,
    [accountId, brandId, paths],
  );
  return rows[0]?.id ?? 0;
}

async function writeContacts({ pool }: Database, account: QueuedAccount, prefix: string, count: number) {
  const { rows } = await pool.query<{ id: number }>(
    `insert into contacts (account_id, brand_id, email, email_key, email_subscribed, email_created_at, first_name, data)
     select $1, $2, a.address, a.address, true, now(), 'Ada ' || n, jsonb_build_object('plan', 'pro', 'n', n)
     from generate_series(1, $4::int) as n cross join lateral (select $3 || n || '@example.com' as address) a
     order by n returning id`,
    [account.accountId, account.brandId, prefix, count],
  );
  await pool.query(
    `update accounts set has_contacts = true, sandbox_monthly_cap = coalesce(sandbox_monthly_cap, 1000000) where id = $1`,
    [account.accountId],
  );
  return rows.map(({ id }) => id);
}

/** Writes an active campaign with new contacts, its recipients and their blocks. All blocks are due. */
export async function writeCampaign(
  database: Database,
  account: QueuedAccount,
  {
    recipients,
    blockSize = 1_000,
    prefix = 'c',
    paths = ['first_name'],
    domainId,
    providerId = 0,
  }: CampaignOptions,
): Promise<WrittenCampaign> {
  const { pool } = database;
  const { accountId, brandId } = account;
  const versionId = await writeVersion(database, account, paths);
  const contactIds = await writeContacts(database, account, prefix, recipients);
  const { rows: campaigns } = await pool.query<{ id: number }>(
    `insert into campaigns (account_id, brand_id, name, status, phase, version_ids, from_address, domain_id, provider_id,
       audience_count, next_block, counted_from, begin_at)
     values ($1, $2, 'Spring sale', 'active', 'sending', array[$3::bigint], $4, $5, $6, $7, $8, now(), now()) returning id`,
    [
      ...[accountId, brandId, versionId, `sandbox-${accountId}@mail.test`, domainId ?? null, providerId],
      ...[recipients, Math.ceil(recipients / blockSize)],
    ],
  );
  const campaignId = campaigns[0]?.id ?? 0;
  const { rows } = await pool.query<{ id: number }>(
    `insert into messages (account_id, brand_id, channel, class, status, to_address, to_key, from_address, subject,
       campaign_id, contact_id, content_version_id, variant)
     select $1, $2, 'email', 2, 'queued', email, email_key, $3, 'Sale', $4, id, $5, 0
     from contacts where id = any($6) order by id returning id`,
    [accountId, brandId, `sandbox-${accountId}@mail.test`, campaignId, versionId, contactIds],
  );
  const messageIds = rows.map(({ id }) => id).sort((one, other) => one - other);
  await pool.query(
    `insert into campaign_blocks (campaign_id, n, account_id, channel, provider_id, domain_id, first_id, last_id, size,
       due_at)
     select $1, ((o - 1) / $4)::int, $2, 'email', $5, $6, min(id), max(id), count(*), now()
     from unnest($3::bigint[]) with ordinality as m (id, o) group by (o - 1) / $4`,
    [campaignId, accountId, messageIds, blockSize, providerId, domainId ?? null],
  );
  return { campaignId, versionId, contactIds, messageIds };
}

/** The blocks of a campaign in the order of their recipients. */
export async function blocksOf({ pool }: Database, campaignId: number) {
  const { rows } = await pool.query<{
    n: number;
    size: number;
    owner: number | null;
    claim_epoch: number;
    reserved: number;
    sandbox_reserved: number;
    closed: boolean;
    hold_reason: string | null;
    recount: boolean;
  }>(
    `select n, size, owner, claim_epoch, reserved, sandbox_reserved, closed_at is not null as closed, hold_reason, recount
     from campaign_blocks where campaign_id = $1 order by first_id`,
    [campaignId],
  );
  return rows;
}

/**
 * Finds inconsistencies: closed blocks whose tallies count as final but differ from their rows, messages outside any
 * block, and sums that differ from the tallies. There must never be any.
 */
export async function wrongTallies({ pool }: Database, campaignId: number): Promise<unknown[]> {
  const { rows } = await pool.query<Record<string, unknown>>(
    `select b.n, b.first_id, b.last_id, jsonb_build_array(b.sent, b.failed, b.unknown) as tallies, r.counts as rows
     from campaign_blocks b cross join lateral (
       select jsonb_build_array(count(*) filter (where m.sent_at is not null),
         count(*) filter (where m.sent_at is null and m.status in ('bounced', 'failed')),
         count(*) filter (where m.sent_at is null and m.status = 'unknown')) as counts
       from messages m where m.campaign_id = b.campaign_id and m.id between b.first_id and b.last_id) r
     where b.campaign_id = $1 and b.closed_at is not null and not b.recount
       and jsonb_build_array(b.sent, b.failed, b.unknown) <> r.counts
     union all
     select null, m.id, m.id, null, to_jsonb(m.status) from messages m
     where m.campaign_id = $1 and not exists (
       select 1 from campaign_blocks b where b.campaign_id = $1 and m.id between b.first_id and b.last_id)
     union all
     select null, null, null, t.sums, to_jsonb(s) from (
       select jsonb_build_array(sum(sent), sum(failed), sum(skipped), sum(unknown), sum(canceled), sum(counted),
         sum(bounced), sum(complained)) as sums
       from campaign_blocks where campaign_id = $1) t
     join campaign_sums s on s.campaign_id = $1
     where t.sums <> jsonb_build_array(s.sent, s.failed, s.skipped, s.unknown, s.canceled, s.counted, s.bounced, s.complained)
     limit 20`,
    [campaignId],
  );
  return rows;
}

export interface RecipientClaim {
  accountId: number;
  /** The claiming process. */
  owner: number;
  messages?: number;
  providerId?: number;
}

/**
 * Claims a due block of an account's campaigns like a sender does.
 * @returns the claims of its emails; empty if none is due
 */
export async function claimRecipients(
  { pool }: Pick<Database, 'pool'>,
  { messages = 1_000, providerId = 0, ...of }: RecipientClaim,
): Promise<Claim[]> {
  const request = { channel: 'email', providerId, messages, ...of } as const;
  return (await claimBlock(pool, request, TEST_LIMITS)).claims;
}
