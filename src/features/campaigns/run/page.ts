import type pg from 'pg';
import { MAX_BLOCK } from '../../../delivery/ledger/blocks/campaign-blocks.ts';
import type { FrequencyCap } from '../../../delivery/ledger/limits/frequency-cap.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { CAMPAIGN_COLUMNS, type CampaignRow, isLocalTime } from '../model.ts';
import { isPinned } from '../pinned-audience.ts';
import { missingLists, nextPage, type PinnedRow } from './audience-source.ts';
import { localTimes, type LocalTimes } from './local-times.ts';
import { pageSql, type PageShape } from './page-sql.ts';
import { freeAfter, spreadBlocks, throttledBlock } from './throttle.ts';
import { divisionOf } from './variants.ts';

/** Number of contacts per page. */
const PAGE_CONTACTS = 20_000;
/** Size of the first page and of its blocks: small, so that sending starts at once, on every sender. */
const FIRST_PAGE_CONTACTS = 2_000;
const FIRST_BLOCK = 100;

/** The keys of the advisory lock that serializes the evaluation of an audience and the writing of its pages. */
export const snapshotLock = (campaignId: number): [number, number] => [
  1_129_468_240,
  campaignId % 2_147_483_647,
];

/** A page reads, sorts and writes many rows in a few seconds; JIT compilation would take longer. */
const PAGE_SETTINGS = `set local jit = off; set local work_mem = '64MB'; set local statement_timeout = '5min';
  set local enable_seqscan = off`;

export interface PageOptions {
  pool: pg.Pool;
  plusAddresses: boolean;
  /** Number of contacts per page; for tests. */
  pageContacts?: number;
}

/**
 * The result of writing a page. `stopped`: the campaign no longer needs one. `gone`: a list that the audience names, at
 * any depth, has been deleted.
 */
export interface PageResult {
  state: 'more' | 'complete' | 'stopped' | 'gone';
  recipients: number;
}

/** What all pages of a campaign share. */
export interface SnapshotPlan {
  times: LocalTimes | null;
  /** The frequency cap of the brand; null if it has none. */
  frequencyCap: FrequencyCap | null;
}

export async function readCampaign(db: Queryable, id: number): Promise<CampaignRow | null> {
  const { rows } = await db.query<CampaignRow>(`select ${CAMPAIGN_COLUMNS} from campaigns where id = $1`, [
    id,
  ]);
  return rows[0] ?? null;
}

/**
 * Whether the recipients of a campaign are being written. An audience pinned in the former form must be expanded first.
 */
export const wantsPage = (row: CampaignRow | null): row is PinnedRow =>
  row?.status === 'active' && row.phase === 'snapshot' && isPinned(row.audience);

async function frequencyCapOf(db: Queryable, brandId: number): Promise<FrequencyCap | null> {
  const { rows } = await db.query<{ cap: FrequencyCap | null }>(
    'select frequency_cap as cap from brands where id = $1',
    [brandId],
  );
  return rows[0]?.cap ?? null;
}

/** Prepares the pages of a campaign. */
export async function planSnapshot(pool: pg.Pool, row: CampaignRow): Promise<SnapshotPlan> {
  const times = isLocalTime(row) ? await localTimes(pool, row) : null;
  return { times, frequencyCap: await frequencyCapOf(pool, row.brand_id) };
}

/**
 * Finds the first id of the campaign's messages, with which later look-ups skip older partitions; null if none exists.
 */
async function firstMessage(
  trx: Queryable,
  { id, next_block: nextBlock }: CampaignRow,
): Promise<number | null> {
  if (nextBlock === 0) return null;
  // Ordered by id, because numbers of blocks that were split off are negative. Ranges do not overlap.
  const { rows } = await trx.query<{ first: number }>(
    'select first_id as first from campaign_blocks where campaign_id = $1 order by last_id limit 1',
    [id],
  );
  return rows[0]?.first ?? null;
}

/** Returns when the recipients of a page are due, and how large their blocks are. */
async function paceOf(
  trx: Queryable,
  row: CampaignRow,
  asOf: Date,
): Promise<{ dueAt: Date; blockSize: number }> {
  const perMinute = row.options.throttle_per_minute;
  if (perMinute === null || perMinute === undefined) {
    return { dueAt: asOf, blockSize: row.next_block === 0 ? FIRST_BLOCK : MAX_BLOCK };
  }
  const blockSize = throttledBlock(perMinute);
  if (isLocalTime(row)) return { dueAt: asOf, blockSize };
  const free = await freeAfter(trx, row.id, perMinute);
  return { dueAt: free !== null && free > asOf ? free : asOf, blockSize };
}

async function insertPage(
  trx: Queryable,
  row: PinnedRow,
  plan: SnapshotPlan,
  { plusAddresses, size, asOf }: { plusAddresses: boolean; size: number; asOf: Date },
) {
  const source = await nextPage(trx, row, size);
  const first = await firstMessage(trx, row);
  const { dueAt, blockSize } = await paceOf(trx, row, asOf);
  const division = divisionOf(row);
  const shape: PageShape = {
    channel: row.channel,
    hasEarlier: first !== null,
    plusAddresses,
    frequencyCap: plan.frequencyCap,
    localTime: plan.times !== null,
    ab: division !== null,
    firstParameter: 2 + source.values.length,
  };
  const { rows } = await trx.query<{ recipients: number; blocks: number }>(pageSql(source.sql, shape), [
    row.brand_id,
    ...source.values,
    row.id,
    row.account_id,
    dueAt,
    blockSize,
    row.next_block,
    row.audience_count,
    first ?? 0,
    division?.ends ?? null,
    plan.times && JSON.stringify(plan.times),
  ]);
  // Without local times, the page's blocks come after all others, so only they need to move.
  await spreadBlocks(trx, row, plan.times ? { asOf } : { asOf, from: row.next_block });
  return { upTo: source.upTo, recipients: rows[0]?.recipients ?? 0, blocks: rows[0]?.blocks ?? 0 };
}

/**
 * Writes the next page of recipients in one transaction: messages, blocks and the cursor. Pages of a campaign wait for
 * each other. The campaign's row is locked only at the end, so that a pause or a cancellation never waits for a page;
 * if the row has changed by then, the page is rolled back.
 */
export async function writePage(
  { pool, plusAddresses, pageContacts = PAGE_CONTACTS }: PageOptions,
  campaignId: number,
  plan: SnapshotPlan,
  asOf: Date,
): Promise<PageResult> {
  try {
    return await inTransaction(pool, async (trx) => {
      await trx.query(PAGE_SETTINGS);
      await trx.query('select pg_advisory_xact_lock($1, $2)', snapshotLock(campaignId));
      const row = await readCampaign(trx, campaignId);
      if (!wantsPage(row)) return { state: 'stopped', recipients: 0 };
      if ((await missingLists(trx, row.audience.listIds)).length > 0) {
        return { state: 'gone', recipients: 0 };
      }
      const size = row.next_block === 0 ? Math.min(FIRST_PAGE_CONTACTS, pageContacts) : pageContacts;
      const page = await insertPage(trx, row, plan, { plusAddresses, size, asOf });
      const complete = page.upTo === null;
      const { rowCount } = await trx.query(
        `update campaigns set cursor = $3, audience_count = audience_count + $4, next_block = next_block + $5,
           phase = case when $6 then 'sending' else phase end, sending_at = case when $6 then $7 else sending_at end
         where id = $1 and cursor = $2 and status = 'active' and phase = 'snapshot'`,
        [
          campaignId,
          row.cursor,
          page.upTo ?? row.max_contact_id ?? 0,
          page.recipients,
          page.blocks,
          complete,
          asOf,
        ],
      );
      if (rowCount !== 1) throw new PageRefused();
      return { state: complete ? 'complete' : 'more', recipients: page.recipients };
    });
  } catch (error) {
    if (error instanceof PageRefused) return { state: 'stopped', recipients: 0 };
    throw error;
  }
}

/** The campaign was changed while its page was written. */
class PageRefused extends Error {}
