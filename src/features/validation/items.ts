import { csvRecord } from '../../platform/csv/writer.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { clearedPage, type RemovalStep } from '../contacts/service.ts';
import type { Verdict } from './checks/verdict.ts';
import type { Item } from './schema.ts';

interface ItemRow {
  id: number;
  contact_id: number;
  email: string | null;
  verdict: Verdict | null;
  reason: string | null;
  checks: Record<string, unknown> | null;
  suggestion: string | null;
  charged: boolean;
  checked_at: Date | null;
}

/** Which items to read, and how. */
export interface ItemSelection {
  verdict: Verdict | undefined;
  /** Leaves out addresses and suggestions, which are addresses, too. */
  hidesAddresses: boolean;
}

function columnsOf({ hidesAddresses }: ItemSelection): string {
  const addresses = hidesAddresses ? 'null as email, null as suggestion' : 'i.email, i.suggestion';
  return `i.id, i.contact_id, ${addresses}, i.verdict, i.reason, i.checks, i.charged, i.checked_at`;
}
/** Number of items read at once for a file. */
const FILE_PAGE = 1_000;

/** The id of the email channel of a contact. */
const channelId = (contactId: number) => contactId * 2;

const presentItem = (row: ItemRow): Item => ({
  id: row.id,
  contact_id: row.contact_id,
  contact_channel_id: channelId(row.contact_id),
  email: row.email,
  verdict: row.verdict,
  reason: row.reason,
  checks: row.checks,
  suggestion: row.suggestion,
  charged: row.charged,
  checked_at: row.checked_at?.toISOString() ?? null,
});

/** Lists the items of an operation, newest first. */
export async function listItems(
  db: Queryable,
  operationId: number,
  selection: ItemSelection,
  page: Page,
): Promise<{ items: Item[]; count: RowCount }> {
  const values: unknown[] = [operationId];
  const { verdict } = selection;
  const filter = verdict === undefined ? '' : ` and i.verdict = $${values.push(verdict)}`;
  const source = `validation_items i where i.operation_id = $1${filter}`;
  const below = page.after === null ? '' : `and i.id < ${page.after}`;
  const { rows } = await db.query<ItemRow>(
    `select ${columnsOf(selection)} from ${source} ${below} order by i.id desc limit ${page.limit} offset ${page.offset}`,
    values,
  );
  return { items: rows.map(presentItem), count: await countRows(db, source, values) };
}

const HEADER = [
  'id',
  'contact_id',
  'contact_channel_id',
  'email',
  'verdict',
  'reason',
  'suggestion',
  'charged',
  'checked_at',
];

const recordOf = (row: ItemRow) =>
  csvRecord([
    String(row.id),
    String(row.contact_id),
    String(channelId(row.contact_id)),
    row.email,
    row.verdict,
    row.reason,
    row.suggestion,
    String(row.charged),
    row.checked_at?.toISOString() ?? null,
  ]);

/** Yields the items as a CSV file, in pieces, oldest first. */
export async function* itemsCsv(
  db: Queryable,
  operationId: number,
  selection: ItemSelection,
): AsyncGenerator<string, void> {
  yield csvRecord(HEADER);
  for (let after = 0; ;) {
    const { rows } = await db.query<ItemRow>(
      `select ${columnsOf(selection)} from validation_items i
       where i.operation_id = $1 and i.id > $2 and ($3::text is null or i.verdict = $3) order by i.id limit $4`,
      [operationId, after, selection.verdict ?? null, FILE_PAGE],
    );
    if (rows.length > 0) yield rows.map(recordOf).join('');
    const last = rows.at(-1);
    if (!last || rows.length < FILE_PAGE) return;
    after = last.id;
  }
}

/**
 * Waits until no page of candidates is being taken that began before the contact was deleted: it would insert the
 * address after {@link forgetValidatedContact} has looked for it. Later pages do not find the contact.
 */
async function waitForPages(trx: Queryable, { accountId, brandId }: BrandScope): Promise<void> {
  // A page locks the row of its operation before it reads contacts, and keeps it locked until it commits.
  await trx.query(
    `select 1 from validation_operations
     where account_id = $1 and brand_id = $2 and status = 'running' and not snapshot_complete order by id for key share`,
    [accountId, brandId],
  );
}

/**
 * Clears one page of the addresses that operations still have of a deleted contact.
 */
export const forgetValidatedContact: RemovalStep = async (trx, contact, limit) => {
  await waitForPages(trx, contact);
  const { rowCount } = await trx.query(
    `update validation_items set email = null, email_key = null, suggestion = null
     where id = any(array(
       select id from validation_items where contact_id = $1 and email is not null order by id limit $2 for update))`,
    [contact.contactId, limit],
  );
  return clearedPage([rowCount], limit);
};
