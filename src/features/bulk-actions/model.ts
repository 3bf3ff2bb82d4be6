import type { BrandScope } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { ConversationFilter } from '../inbox/index.ts';
import type { PinnedFilter } from './filter.ts';
import type { BulkActionError, BulkActionKind, BulkActionStatus, BulkFilter, StoredKind } from './schema.ts';

/** What an action is about, and which of it. */
type Selection =
  | { action: BulkActionKind; filter: BulkFilter; pinned: PinnedFilter }
  | {
      action: 'delete_conversations';
      filter: ConversationFilter;
      /**
       * `up_to`: the highest id of a conversation at the request. A process of an earlier version finds nothing here that
       * it knows, and so leaves the action to others.
       */
      pinned: { up_to: number };
    };

/** A row of `bulk_actions`. */
export type BulkActionRow = Selection & RowFacts;

interface RowFacts {
  id: number;
  account_id: number;
  brand_id: number;
  list_id: number | null;
  dry_run: boolean;
  status: BulkActionStatus;
  error: BulkActionError | null;
  /** Null until the action has begun. */
  last_id: number | null;
  cursor_id: number;
  counted: number;
  total_count: number | null;
  processed_count: number;
  changed_count: number;
  failed_count: number;
  timeouts: number;
  created_at: Date;
  started_at: Date | null;
  finished_at: Date | null;
}

const COLUMNS = `b.id, b.account_id, b.brand_id, b.action, b.list_id, b.filter, b.pinned, b.dry_run, b.status, b.error,
  b.last_id, b.cursor_id, b.counted, b.total_count, b.processed_count, b.changed_count, b.failed_count, b.timeouts,
  b.created_at, b.started_at, b.finished_at`;

/** Time in which the workflow must show that it is active: longer than its longest activity. */
const GRACE = `interval '35 minutes'`;
const UNFINISHED = `('queued', 'counting', 'running')`;

const oneOf = (rows: BulkActionRow[]): BulkActionRow | null => rows[0] ?? null;

/** Makes transactions for actions of one account wait for each other, so that together they cannot exceed a limit. */
async function lockAccount(trx: Queryable, accountId: number): Promise<void> {
  await trx.query(`select pg_advisory_xact_lock(hashtextextended('bulk actions ' || $1::text, 0))`, [
    accountId,
  ]);
}

export type NewBulkAction = Selection & {
  listId: number | null;
  /** Hashes of the addresses in both filters. */
  named: Buffer[];
  dryRun: boolean;
};

/** Whose actions are read: those on contacts, or those on conversations. */
export type ActionSubject = 'contacts' | 'conversations';

/** SQL: actions on this subject. */
const isAbout = (subject: ActionSubject): string =>
  `(b.action = 'delete_conversations') = ${subject === 'conversations'}`;

/**
 * Inserts an action unless the account has too many unfinished ones.
 * @returns null if the account has too many
 */
export async function insertBulkAction(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
  { action, listId, filter, pinned, named, dryRun }: NewBulkAction,
  maxUnfinished: number,
): Promise<BulkActionRow | null> {
  await lockAccount(trx, accountId);
  const { rows } = await trx.query<BulkActionRow>(
    `insert into bulk_actions as b (account_id, brand_id, action, list_id, filter, pinned, dry_run, named, engine_expected_by)
     select $1, $2, $3, $4, $5, $6, $7, $9, now() + interval '1 minute'
     where (select count(*) from bulk_actions where account_id = $1 and finished_at is null) < $8
     returning ${COLUMNS}`,
    [
      accountId,
      brandId,
      action,
      listId,
      JSON.stringify(filter),
      JSON.stringify(pinned),
      dryRun,
      maxUnfinished,
      named,
    ],
  );
  return oneOf(rows);
}

/** @returns null if the brand has no such action */
export async function findBulkAction(
  db: Queryable,
  { brandId }: BrandScope,
  subject: ActionSubject,
  id: number,
): Promise<BulkActionRow | null> {
  const { rows } = await db.query<BulkActionRow>(
    `select ${COLUMNS} from bulk_actions b where b.brand_id = $1 and b.id = $2 and ${isAbout(subject)}`,
    [brandId, id],
  );
  return oneOf(rows);
}

/** Reads an action of any brand. */
export async function readBulkAction(db: Queryable, id: number): Promise<BulkActionRow | null> {
  const { rows } = await db.query<BulkActionRow>(`select ${COLUMNS} from bulk_actions b where b.id = $1`, [
    id,
  ]);
  return oneOf(rows);
}

/** Finds actions, newest first. */
export async function findBulkActions(
  db: Queryable,
  { brandId }: BrandScope,
  subject: ActionSubject,
  filters: { action?: StoredKind | undefined; status: string | undefined },
  page: Page,
): Promise<{ rows: BulkActionRow[]; count: RowCount }> {
  const source = `bulk_actions b where b.brand_id = $1 and ($2::text is null or b.action = $2)
    and ($3::text is null or b.status = $3) and ${isAbout(subject)}`;
  const values = [brandId, filters.action ?? null, filters.status ?? null];
  const below = page.after === null ? '' : `and b.id < ${page.after}`;
  const [{ rows }, count] = await Promise.all([
    db.query<BulkActionRow>(
      `select ${COLUMNS} from ${source} ${below} order by b.id desc limit ${page.limit} offset ${page.offset}`,
      values,
    ),
    countRows(db, source, values),
  ]);
  return { rows, count };
}

/** @returns null if the brand has no such action, or it has ended */
export async function cancel(
  db: Queryable,
  { brandId }: BrandScope,
  subject: ActionSubject,
  id: number,
): Promise<BulkActionRow | null> {
  const { rows } = await db.query<BulkActionRow>(
    `update bulk_actions b set status = 'canceled', finished_at = now(), engine_expected_by = null
     where b.brand_id = $1 and b.id = $2 and ${isAbout(subject)} and b.status in ${UNFINISHED} returning ${COLUMNS}`,
    [brandId, id],
  );
  return oneOf(rows);
}

/**
 * Starts a queued action, and records that its workflow is active. Actions of an account run one after the other, in
 * the order in which they were created. A dry run changes nothing, so it does not wait.
 * @returns null if the action has ended
 */
export async function beginBulkAction(trx: Queryable, id: number): Promise<BulkActionRow | null> {
  const found = await trx.query<{ account_id: number }>(
    // A process of an earlier version takes the ids of contacts for those of conversations.
    `update bulk_actions set engine_expected_by = now() + ${GRACE},
       last_id = case when last_id is null then null else coalesce((pinned ->> 'up_to')::bigint, last_id) end
     where id = $1 and status in ${UNFINISHED} returning account_id`,
    [id],
  );
  const accountId = found.rows[0]?.account_id;
  if (accountId === undefined) return null;
  await lockAccount(trx, accountId);
  await trx.query(
    `update bulk_actions b set status = 'counting', started_at = now(),
       last_id = coalesce((b.pinned ->> 'up_to')::bigint,
         (select c.id from contacts c where c.brand_id = b.brand_id order by c.id desc limit 1), 0)
     where b.id = $1 and b.status = 'queued' and (b.dry_run or not exists (
       select 1 from bulk_actions o
       where o.account_id = b.account_id and o.id < b.id and not o.dry_run and o.finished_at is null))`,
    [id],
  );
  return readBulkAction(trx, id);
}

/** Records that the workflow is active. @returns null if the action is not under way */
export async function findUnderWay(db: Queryable, id: number): Promise<BulkActionRow | null> {
  const { rows } = await db.query<BulkActionRow>(
    `update bulk_actions b set engine_expected_by = greatest(b.engine_expected_by, now() + ${GRACE})
     where b.id = $1 and b.status in ('counting', 'running') returning ${COLUMNS}`,
    [id],
  );
  return oneOf(rows);
}

/** Stores the progress of counting, if it is still as in `row`. */
export async function saveCounted(
  db: Queryable,
  row: BulkActionRow,
  { matching, cursor }: { matching: number; cursor: number },
): Promise<void> {
  await db.query(
    `update bulk_actions set counted = counted + $3, cursor_id = $4
     where id = $1 and status = 'counting' and cursor_id = $2`,
    [row.id, row.cursor_id, matching, cursor],
  );
}

/** Ends counting. A dry run is then complete. */
export async function endCounting(db: Queryable, id: number): Promise<void> {
  await db.query(
    `update bulk_actions set total_count = counted, cursor_id = 0,
       status = case when dry_run then 'completed' else 'running' end,
       finished_at = case when dry_run then now() end,
       engine_expected_by = case when dry_run then null else engine_expected_by end
     where id = $1 and status = 'counting' and cursor_id >= last_id`,
    [id],
  );
}

/**
 * Locks a running action, so that it cannot be canceled until the transaction ends.
 * @returns false if another process has done its next page, or it has ended
 */
export async function lockRunning(trx: Queryable, row: BulkActionRow): Promise<boolean> {
  const { rowCount } = await trx.query(
    `select 1 from bulk_actions where id = $1 and status = 'running' and cursor_id = $2 for no key update`,
    [row.id, row.cursor_id],
  );
  return rowCount === 1;
}

export interface DonePage {
  cursor: number;
  processed: number;
  changed: number;
  failed: number;
}

/** Stores the progress of a locked action. */
export async function savePage(trx: Queryable, id: number, done: DonePage): Promise<void> {
  await trx.query(
    `update bulk_actions set cursor_id = $2, processed_count = processed_count + $3,
       changed_count = changed_count + $4, failed_count = failed_count + $5 where id = $1`,
    [id, done.cursor, done.processed, done.changed, done.failed],
  );
}

/** Ends a running action that has reached its end. */
export async function complete(db: Queryable, id: number): Promise<void> {
  await db.query(
    `update bulk_actions set status = 'completed', total_count = processed_count, finished_at = now(),
       engine_expected_by = null
     where id = $1 and status = 'running' and cursor_id >= last_id`,
    [id],
  );
}

/** Ends an action. What it did until now stays. */
export async function fail(db: Queryable, id: number, error: BulkActionError): Promise<void> {
  await db.query(
    `update bulk_actions set status = 'failed', error = $2, finished_at = now(), engine_expected_by = null
     where id = $1 and status in ${UNFINISHED}`,
    [id, error],
  );
}

/** Records that a statement timed out. @returns the number of time-outs so far */
export async function addTimeout(db: Queryable, id: number): Promise<number> {
  const { rows } = await db.query<{ timeouts: number }>(
    'update bulk_actions set timeouts = timeouts + 1 where id = $1 returning timeouts',
    [id],
  );
  return rows[0]?.timeouts ?? 0;
}
