/**
 * Adds recipients of a campaign to a list. A request inserts a row; the worker adds the contacts in pages. A page and
 * its cursor are one transaction, so the worker may stop at any moment.
 */
import type pg from 'pg';
import type { BrandScope } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { Pulse } from '../../platform/processes/pulse.ts';
import type { Repeating } from '../../platform/processes/repeat.ts';
import { addToLists } from '../lists/service.ts';
import { findRow, LIST_FILL_COLUMNS, type ListFillRow, putLast, savePage } from './list-fill-model.ts';
import type { CampaignRow } from './model.ts';
import { type RecipientFilters, scanRecipients } from './recipients.ts';
import type { ListFill } from './recipients-schema.ts';

function presentListFill(row: ListFillRow): ListFill {
  return {
    id: row.id,
    campaign_id: row.campaign_id,
    list_id: row.list_id,
    status: row.finished_at ? 'completed' : 'running',
    looked_at_count: row.looked_at,
    added_count: row.added,
    created_at: row.created_at.toISOString(),
    finished_at: row.finished_at?.toISOString() ?? null,
  };
}

/**
 * Requests that a list is filled with the current recipients of a campaign.
 * @param trx the caller's transaction
 * @param listId a list of the campaign's brand
 */
export async function startListFill(
  trx: Queryable,
  { id, account_id: accountId, brand_id: brandId }: Pick<CampaignRow, 'id' | 'account_id' | 'brand_id'>,
  listId: number,
  filters: RecipientFilters,
): Promise<ListFill> {
  const { rows } = await trx.query<ListFillRow>(
    `insert into campaign_list_fills (account_id, brand_id, campaign_id, list_id, filters, up_to)
     select $1, $2, $3, $4, $5, coalesce(max(last_id), 0) from campaign_blocks where campaign_id = $3
     returning ${LIST_FILL_COLUMNS}`,
    [accountId, brandId, id, listId, JSON.stringify(filters)],
  );
  return presentListFill(rows[0] as ListFillRow);
}

/** @returns null if the brand has no list fill with this id */
export async function findListFill(db: Queryable, scope: BrandScope, id: number): Promise<ListFill | null> {
  const row = await findRow(db, scope, id);
  return row && presentListFill(row);
}

/** Finds the list fills of a campaign, newest first. */
export async function findListFills(
  db: Queryable,
  campaignId: number,
  page: Page,
): Promise<{ fills: ListFill[]; count: RowCount }> {
  const source = 'campaign_list_fills f where f.campaign_id = $1';
  const below = page.after === null ? '' : `and f.id < ${page.after}`;
  const { rows } = await db.query<ListFillRow>(
    `select ${LIST_FILL_COLUMNS} from ${source} ${below} order by f.id desc limit ${page.limit} offset ${page.offset}`,
    [campaignId],
  );
  return { fills: rows.map(presentListFill), count: await countRows(db, source, [campaignId]) };
}

/** Number of blocks per page. */
const BLOCKS_AT_ONCE = 2;

async function takeListFill(trx: Queryable): Promise<ListFillRow | null> {
  const { rows } = await trx.query<ListFillRow>(
    `select ${LIST_FILL_COLUMNS} from campaign_list_fills where finished_at is null
     order by served_at limit 1 for update skip locked`,
  );
  return rows[0] ?? null;
}

async function addPage(trx: Queryable, fill: ListFillRow): Promise<void> {
  const page = { after: fill.cursor, upTo: fill.up_to, blocks: BLOCKS_AT_ONCE };
  const found = await scanRecipients<{ contact_id: number | null }>(
    trx,
    'm.contact_id',
    fill.campaign_id,
    fill.filters,
    page,
  );
  const contacts = [...new Set(found.rows.flatMap((row) => row.contact_id ?? []))];
  const added = await addToLists(trx, contacts, [fill.list_id]);
  const { scannedTo, lookedAt } = found;
  await savePage(trx, fill.id, { scannedTo, lookedAt, added: added.length });
}

/**
 * Adds the next page of contacts to a list. Several processes may do so at once: each takes a different list. A failed
 * list fill is tried again after all others.
 * @returns whether there may be more
 */
export async function fillLists(pool: pg.Pool): Promise<boolean> {
  let takenId = null as number | null;
  try {
    return await inTransaction(pool, async (trx) => {
      const fill = await takeListFill(trx);
      if (!fill) return false;
      takenId = fill.id;
      await addPage(trx, fill);
      return true;
    });
  } catch (error) {
    if (takenId !== null) await putLast(pool, takenId);
    throw error;
  }
}

/** Fills lists. Any number of processes may run this. */
export function startListFills({ pool, pulse }: { pool: pg.Pool; pulse: Pulse }): Repeating {
  const queue = {
    name: 'filling lists',
    waiting: 'exists (select from campaign_list_fills where finished_at is null)',
  };
  return pulse.repeat(queue, () => fillLists(pool));
}
