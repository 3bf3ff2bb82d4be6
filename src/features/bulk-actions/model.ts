import { fn, type ModelObject, raw, ref } from 'objection';
import { type BrandScope, TenantModel } from '../../platform/db/model.ts';
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

class BulkActionModel extends TenantModel {
  static override readonly tableName = 'bulk_actions';
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'action',
    'list_id',
    'filter',
    'pinned',
    'dry_run',
    'status',
    'error',
    'last_id',
    'cursor_id',
    'counted',
    'total_count',
    'processed_count',
    'changed_count',
    'failed_count',
    'timeouts',
    'created_at',
    'started_at',
    'finished_at',
  ];
  static override readonly jsonColumns = ['filter', 'pinned'];

  declare account_id: number;
  declare brand_id: number;
  declare action: Selection['action'];
  declare list_id: number | null;
  declare filter: Selection['filter'];
  declare pinned: Selection['pinned'];
  declare dry_run: boolean;
  declare status: BulkActionStatus;
  declare error: BulkActionError | null;
  /** Null until the action has begun. */
  declare last_id: number | null;
  declare cursor_id: number;
  declare counted: number;
  declare total_count: number | null;
  declare processed_count: number;
  declare changed_count: number;
  declare failed_count: number;
  declare timeouts: number;
  declare engine_expected_by: Date | null;
  declare created_at: Date;
  declare started_at: Date | null;
  declare finished_at: Date | null;
}

/** A row of `bulk_actions`. */
export type BulkActionRow = Selection &
  Omit<ModelObject<BulkActionModel>, keyof Selection | 'engine_expected_by'>;

/** SQL: the columns of an action `b`. */
const COLUMNS = BulkActionModel.columns.map((name) => `b.${name}`).join(', ');

/** Time in which the workflow must show that it is active: longer than its longest activity. */
const GRACE = `interval '35 minutes'`;
/** When the workflow must next show that it is active. */
const grace = () => raw(`now() + ${GRACE}`);
const UNFINISHED: readonly BulkActionStatus[] = ['queued', 'counting', 'running'];

/** Only what an action is about says which filter it has. */
const oneOf = (rows: readonly BulkActionModel[]) => (rows[0] ?? null) as BulkActionRow | null;

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
  return rows[0] ?? null;
}

/** The actions on a subject. */
function about(db: Queryable, scope: BrandScope, subject: ActionSubject) {
  const operator = subject === 'conversations' ? '=' : '<>';
  return BulkActionModel.ofBrand(db, scope).where('action', operator, 'delete_conversations');
}

/** @returns null if the brand has no such action */
export async function findBulkAction(
  db: Queryable,
  scope: BrandScope,
  subject: ActionSubject,
  id: number,
): Promise<BulkActionRow | null> {
  return oneOf(await about(db, scope, subject).where('id', id).select(BulkActionModel.columns));
}

/** Reads an action of any brand. */
export async function readBulkAction(db: Queryable, id: number): Promise<BulkActionRow | null> {
  return oneOf(await BulkActionModel.on(db).where('id', id).select(BulkActionModel.columns));
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
  scope: BrandScope,
  subject: ActionSubject,
  id: number,
): Promise<BulkActionRow | null> {
  const rows = await about(db, scope, subject)
    .where('id', id)
    .whereIn('status', UNFINISHED)
    .patch({ status: 'canceled', finished_at: fn.now(), engine_expected_by: null })
    .returning(BulkActionModel.columns);
  return oneOf(rows);
}

/**
 * Starts a queued action, and records that its workflow is active. Actions of an account run one after the other, in
 * the order in which they were created. A dry run changes nothing, so it does not wait.
 * @returns null if the action has ended
 */
export async function beginBulkAction(trx: Queryable, id: number): Promise<BulkActionRow | null> {
  const [active] = await BulkActionModel.on(trx)
    .where('id', id)
    .whereIn('status', UNFINISHED)
    .patch({
      engine_expected_by: grace(),
      // A process of an earlier version takes the ids of contacts for those of conversations.
      last_id: raw(
        `case when last_id is null then null else coalesce((pinned ->> 'up_to')::bigint, last_id) end`,
      ),
    })
    .returning('account_id');
  if (!active) return null;
  await lockAccount(trx, active.account_id);
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
  const rows = await BulkActionModel.on(db)
    .where('id', id)
    .whereIn('status', ['counting', 'running'])
    .patch({ engine_expected_by: raw('greatest(engine_expected_by, ?)', [grace()]) })
    .returning(BulkActionModel.columns);
  return oneOf(rows);
}

/** Stores the progress of counting, if it is still as in `row`. */
export async function saveCounted(
  db: Queryable,
  row: BulkActionRow,
  { matching, cursor }: { matching: number; cursor: number },
): Promise<void> {
  await BulkActionModel.on(db)
    .where({ id: row.id, status: 'counting', cursor_id: row.cursor_id })
    .patch({ counted: raw('counted + ?', [matching]), cursor_id: cursor });
}

/** Ends counting. A dry run is then complete. */
export async function endCounting(db: Queryable, id: number): Promise<void> {
  await BulkActionModel.on(db)
    .where({ id, status: 'counting' })
    .whereColumn('cursor_id', '>=', 'last_id')
    .patch({
      total_count: ref('counted'),
      cursor_id: 0,
      status: raw(`case when dry_run then 'completed' else 'running' end`),
      finished_at: raw('case when dry_run then now() end'),
      engine_expected_by: raw('case when dry_run then null else engine_expected_by end'),
    });
}

/**
 * Locks a running action, so that it cannot be canceled until the transaction ends.
 * @returns false if another process has done its next page, or it has ended
 */
export async function lockRunning(trx: Queryable, row: BulkActionRow): Promise<boolean> {
  const rows = await BulkActionModel.on(trx)
    .where({ id: row.id, status: 'running', cursor_id: row.cursor_id })
    .forNoKeyUpdate()
    .select('id');
  return rows.length === 1;
}

export interface DonePage {
  cursor: number;
  processed: number;
  changed: number;
  failed: number;
}

/** Stores the progress of a locked action. */
export async function savePage(trx: Queryable, id: number, done: DonePage): Promise<void> {
  await BulkActionModel.on(trx)
    .where('id', id)
    .patch({
      cursor_id: done.cursor,
      processed_count: raw('processed_count + ?', [done.processed]),
      changed_count: raw('changed_count + ?', [done.changed]),
      failed_count: raw('failed_count + ?', [done.failed]),
    });
}

/** Ends a running action that has reached its end. */
export async function complete(db: Queryable, id: number): Promise<void> {
  await BulkActionModel.on(db)
    .where({ id, status: 'running' })
    .whereColumn('cursor_id', '>=', 'last_id')
    .patch({
      status: 'completed',
      total_count: ref('processed_count'),
      finished_at: fn.now(),
      engine_expected_by: null,
    });
}

/** Ends an action. What it did until now stays. */
export async function fail(db: Queryable, id: number, error: BulkActionError): Promise<void> {
  await BulkActionModel.on(db)
    .where('id', id)
    .whereIn('status', UNFINISHED)
    .patch({ status: 'failed', error, finished_at: fn.now(), engine_expected_by: null });
}

/** Records that a statement timed out. @returns the number of time-outs so far */
export async function addTimeout(db: Queryable, id: number): Promise<number> {
  const [row] = await BulkActionModel.on(db)
    .where('id', id)
    .patch({ timeouts: raw('timeouts + 1') })
    .returning('timeouts');
  return row?.timeouts ?? 0;
}
