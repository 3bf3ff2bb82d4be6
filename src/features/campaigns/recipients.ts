/**
 * The recipients of a campaign: its messages, found by the id ranges of its blocks. However many recipients there are,
 * each statement reads only a few blocks.
 */
import { campaignCounts } from './campaign-counts.ts';
import type { Bounce, MessageStatus } from '../../delivery/terms/message.ts';
import { csvRecord } from '../../platform/csv/writer.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { CampaignRow } from './model.ts';
import type { Recipient, RecipientState } from './recipients-schema.ts';

export interface RecipientFilters {
  state?: RecipientState | undefined;
  status?: MessageStatus | undefined;
  reason?: string | undefined;
  opened?: boolean | undefined;
  clicked?: boolean | undefined;
}

interface RecipientRow {
  id: number;
  contact_id: number | null;
  to_address: string | null;
  state: RecipientState;
  status: MessageStatus;
  variant: number | null;
  failure: { code: string; message: string } | null;
  bounce: Bounce | null;
  sent_at: Date | null;
  delivered_at: Date | null;
  opened_at: Date | null;
  clicked_at: Date | null;
  created_at: Date;
}

/** SQL over the message `m`: the state under which `campaignCounts` counts it. */
const STATE = `case when m.sent_at is not null then 'sent' when m.status in ('bounced', 'failed') then 'failed'
  when m.status in ('skipped', 'unknown', 'canceled') then m.status else 'remaining' end`;

const COLUMNS = `m.id, m.contact_id, m.to_address, ${STATE} as state, m.status, m.variant, m.failure, m.bounce,
  m.sent_at, m.delivered_at, m.opened_at, m.clicked_at, m.created_at`;

/** Maximum number of blocks that one statement reads: up to 20,000 recipients. */
const BLOCKS_AT_ONCE = 20;

/** SQL: the conditions over the message `m`, each after an `and`. @param values receives the values */
export function conditionsOf(filters: RecipientFilters, values: unknown[]): string {
  const { state, status, reason, opened, clicked } = filters;
  const equal = (sql: string, value: unknown) =>
    value === undefined ? '' : ` and ${sql} = $${values.push(value)}`;
  return [
    equal(STATE, state),
    equal('m.status', status),
    equal(`m.failure->>'code'`, reason),
    equal('(m.opened_at is not null)', opened),
    equal('(m.clicked_at is not null)', clicked),
  ].join('');
}

const isFiltered = (filters: RecipientFilters) =>
  Object.values(filters).some((value: unknown) => value !== undefined);

function presentRecipient(row: RecipientRow): Recipient {
  const iso = (time: Date | null) => time?.toISOString() ?? null;
  return {
    id: row.id,
    contact_id: row.contact_id,
    to: row.to_address,
    state: row.state,
    status: row.status,
    variant: row.variant,
    failure: row.failure,
    bounce: row.bounce,
    sent_at: iso(row.sent_at),
    delivered_at: iso(row.delivered_at),
    opened_at: iso(row.opened_at),
    clicked_at: iso(row.clicked_at),
    created_at: row.created_at.toISOString(),
  };
}

/** Finds a page of all recipients. Whole blocks before it are skipped by their sizes. */
async function findPage(db: Queryable, campaignId: number, page: Page): Promise<RecipientRow[]> {
  const { rows } = await db.query<RecipientRow>(
    `with blocks as materialized (
       select first_id, last_id, size, sum(size) over (order by first_id desc) - size as before
       from campaign_blocks where campaign_id = $1 and first_id < $2
     ), page as materialized (
       -- A part of the first block may lie before the start of the page.
       select * from blocks where before + size > $3::bigint
         and before < $3::bigint + $4 + (select b.size from blocks b order by b.first_id desc limit 1)
     )
     select ${COLUMNS} from messages m join page p on m.id between p.first_id and p.last_id
     where m.campaign_id = $1 and m.id < $2
     order by m.id desc limit $4 offset $3::bigint - coalesce((select min(before) from page), $3::bigint)`,
    [campaignId, page.after ?? Number.MAX_SAFE_INTEGER, page.offset, page.limit],
  );
  return rows;
}

interface Looked {
  rows: RecipientRow[];
  /** The number of recipients examined. `stoppedAt`: where the search stopped; null at the end. */
  lookedAt: number;
  stoppedAt: number | null;
  matched: number;
}

/** Finds a page of matching recipients among the newest blocks after the start of the page. */
async function findMatching(
  db: Queryable,
  campaignId: number,
  filters: RecipientFilters,
  page: Page,
): Promise<Looked> {
  const values: unknown[] = [campaignId, page.after ?? Number.MAX_SAFE_INTEGER];
  const conditions = conditionsOf(filters, values);
  const blocks = `blocks as materialized (
       select first_id, last_id, size from campaign_blocks where campaign_id = $1 and first_id < $2
       order by first_id desc limit ${BLOCKS_AT_ONCE})`;
  const matching = `from messages m join blocks b on m.id between b.first_id and b.last_id
       where m.campaign_id = $1 and m.id < $2${conditions}`;
  const { rows } = await db.query<RecipientRow>(
    `with ${blocks} select ${COLUMNS} ${matching} order by m.id desc limit ${page.limit} offset ${page.offset}`,
    values,
  );
  const { rows: facts } = await db.query<{
    matched: number;
    looked_at: number;
    first: number | null;
    blocks: number;
  }>(
    `with ${blocks} select (select count(*) ${matching}) as matched, coalesce(sum(size), 0)::bigint as looked_at,
       min(first_id) as first, count(*) as blocks from blocks`,
    values,
  );
  const { matched, looked_at: lookedAt, first, blocks: count } = facts[0] as (typeof facts)[number];
  return { rows, matched, lookedAt, stoppedAt: count === BLOCKS_AT_ONCE ? first : null };
}

function onlyState(filters: RecipientFilters): RecipientState | null {
  const { state, ...others } = filters;
  return state !== undefined && !isFiltered(others) ? state : null;
}

async function countMatching(
  db: Queryable,
  row: CampaignRow,
  filters: RecipientFilters,
  page: Page,
  looked: Looked,
): Promise<RowCount> {
  const state = onlyState(filters);
  if (state) return { total: (await campaignCounts(db, [row.id])).get(row.id)?.[state] ?? 0 };
  const all =
    page.after === null ? looked : await findMatching(db, row.id, filters, { ...page, after: null });
  if (all.stoppedAt === null) return { total: all.matched };
  const share = all.matched / Math.max(1, all.lookedAt);
  return { total: Math.max(all.matched, Math.round(share * row.audience_count)), estimated: true };
}

/**
 * Lists recipients, newest first. With filters, a page reads at most {@link BLOCKS_AT_ONCE} blocks; if it is not full,
 * `continueAfter` of the count is where the next page begins.
 */
export async function listRecipients(
  db: Queryable,
  row: CampaignRow,
  filters: RecipientFilters,
  page: Page,
): Promise<{ recipients: Recipient[]; count: RowCount }> {
  if (!isFiltered(filters)) {
    const rows = await findPage(db, row.id, page);
    return { recipients: rows.map(presentRecipient), count: { total: row.audience_count } };
  }
  const looked = await findMatching(db, row.id, filters, page);
  const count = await countMatching(db, row, filters, page, looked);
  const isCut = looked.rows.length < page.limit && looked.stoppedAt !== null;
  return {
    recipients: looked.rows.map(presentRecipient),
    count: isCut ? { ...count, continueAfter: looked.stoppedAt as number } : count,
  };
}

const HEADER = [
  'message_id',
  'contact_id',
  'to',
  'state',
  'status',
  'reason',
  'bounce',
  'variant',
  'sent_at',
  'delivered_at',
  'opened_at',
  'clicked_at',
];

function recordOf(row: RecipientRow): string {
  const iso = (time: Date | null) => time?.toISOString() ?? null;
  return csvRecord([
    String(row.id),
    row.contact_id === null ? null : String(row.contact_id),
    row.to_address,
    row.state,
    row.status,
    row.failure?.code ?? null,
    row.bounce?.subtype ?? null,
    row.variant === null ? null : String(row.variant),
    iso(row.sent_at),
    iso(row.delivered_at),
    iso(row.opened_at),
    iso(row.clicked_at),
  ]);
}

/** Number of blocks whose recipients are in memory while a file is written. */
const BLOCKS_OF_FILE = 2;

/** Finds the next recipients by id. The cursor is an id, because blocks may be split between calls. */
export async function scanRecipients<Row extends object>(
  db: Queryable,
  columns: string,
  campaignId: number,
  filters: RecipientFilters,
  { after, upTo, blocks }: { after: number; upTo: number; blocks: number },
): Promise<{ rows: Row[]; lookedAt: number; scannedTo: number | null }> {
  const values: unknown[] = [campaignId, after, upTo];
  const conditions = conditionsOf(filters, values);
  const range = `select first_id, last_id, size from campaign_blocks
    where campaign_id = $1 and last_id > $2 and first_id <= $3 order by first_id limit ${blocks}`;
  const { rows: looked } = await db.query<{ first_id: number; last_id: number; size: number }>(range, [
    campaignId,
    after,
    upTo,
  ]);
  const scannedTo = looked.at(-1)?.last_id ?? null;
  if (scannedTo === null) return { rows: [], lookedAt: 0, scannedTo };
  const [firsts, lasts] = [looked.map((block) => block.first_id), looked.map((block) => block.last_id)];
  // Between blocks there may be other messages, and before the first one there are all older ones.
  const { rows } = await db.query<Row>(
    `with blocks as materialized (
       select * from unnest($${values.length + 1}::bigint[], $${values.length + 2}::bigint[]) as b (first_id, last_id)
     )
     select ${columns} from messages m join blocks b on m.id between b.first_id and b.last_id
     where m.campaign_id = $1 and m.id > $2 and m.id <= $3${conditions} order by m.id`,
    [...values, firsts, lasts],
  );
  return { rows, lookedAt: looked.reduce((sum, { size }) => sum + size, 0), scannedTo };
}

/** Yields the recipients as chunks of a CSV file, oldest first. */
export async function* recipientsCsv(
  db: Queryable,
  row: Pick<CampaignRow, 'id'>,
  filters: RecipientFilters,
): AsyncGenerator<string, void> {
  yield csvRecord(HEADER);
  let after = 0;
  for (;;) {
    const page = { after, upTo: Number.MAX_SAFE_INTEGER, blocks: BLOCKS_OF_FILE };
    const { rows, scannedTo } = await scanRecipients<RecipientRow>(db, COLUMNS, row.id, filters, page);
    if (scannedTo === null) return;
    if (rows.length > 0) yield rows.map(recordOf).join('');
    after = scannedTo;
  }
}
