import { fn, type ModelObject, raw, ref } from 'objection';
import { type BrandScope, TenantModel } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Audience, CandidateCount, PinnedFilters } from './audience.ts';
import { type AudienceKind, type OperationStatus, SHOWN_IDS } from './schema.ts';

class OperationModel extends TenantModel {
  static override readonly tableName = 'validation_operations';
  /** Without the ids, of which there may be thousands, and the filters. */
  static override readonly columns = [
    'id',
    'account_id',
    'brand_id',
    'test',
    'audience_kind',
    'status',
    'as_of',
    'max_contact_id',
    'cursor_id',
    'snapshot_complete',
    'candidate_count',
    'chargeable_count',
    'taken_count',
    'taken_chargeable_count',
    'deliverable_count',
    'undeliverable_count',
    'risky_count',
    'unknown_count',
    'priced_count',
    'checked_chargeable_count',
    'run',
    'price_millicents',
    'reserved_millicents',
    'charged_count',
    'created_at',
    'finished_at',
    'items_removed_at',
  ];
  static override readonly jsonColumns = ['filters', 'segments'];

  declare account_id: number;
  declare brand_id: number;
  declare test: boolean;
  declare idempotency_key: string | null;
  declare audience_kind: AudienceKind;
  declare audience_ids: number[];
  declare audience_digest: Buffer;
  declare filters: PinnedFilters['filters'] | null;
  declare segments: PinnedFilters['segments'] | null;
  declare status: OperationStatus;
  declare as_of: Date;
  declare max_contact_id: number;
  declare cursor_id: number;
  declare snapshot_complete: boolean;
  declare candidate_count: number;
  declare chargeable_count: number;
  declare taken_count: number;
  declare taken_chargeable_count: number;
  declare deliverable_count: number;
  declare undeliverable_count: number;
  declare risky_count: number;
  declare unknown_count: number;
  /** Number of results that cost the price. */
  declare priced_count: number;
  /** Number of items with a result, among those with a reservation. */
  declare checked_chargeable_count: number;
  declare run: number;
  declare price_millicents: number;
  /** The month of the reservation, as `YYYY-MM-DD`; null if nothing was reserved. */
  declare price_month: string | null;
  declare reserved_millicents: number;
  declare charged_count: number;
  declare engine_expected_by: Date | null;
  declare created_at: Date;
  declare finished_at: Date | null;
  declare items_removed_at: Date | null;
}

/** A row of `validation_operations`, without the filters and the ids that clients do not see. */
export type OperationRow = Omit<
  ModelObject<OperationModel>,
  'idempotency_key' | 'audience_ids' | 'audience_digest' | 'filters' | 'segments' | 'engine_expected_by'
> & { shown_ids: number[]; ids_count: number };

/** SQL: the columns of an {@link OperationRow} that are computed. */
const COMPUTED = [
  `audience_ids[1:${SHOWN_IDS}] as shown_ids`,
  'cardinality(audience_ids) as ids_count',
  'price_month::text',
];
const COLUMNS = [...OperationModel.columns, ...COMPUTED].join(', ');
const selected = () => [...OperationModel.columns, ...COMPUTED.map((sql) => raw(sql))];

/** The rows of a query that has selected or returned {@link selected}. */
const oneOf = ([row]: readonly OperationModel[]) => (row ?? null) as unknown as OperationRow | null;

/** The workflow reports at least this often. */
const soon = () => raw(`now() + interval '2 minutes'`);
/** The month of a reservation. */
const monthOf = (millicents: number) => (millicents > 0 ? raw('current_month()') : null);

/** Serializes the starts of an account's operations, and their beginnings, until the transaction commits. */
export async function lockAccount(trx: Queryable, accountId: number): Promise<void> {
  await trx.query(`select pg_advisory_xact_lock(hashtextextended('validations ' || $1::text, 0))`, [
    accountId,
  ]);
}

export interface NewOperation {
  audience: Audience;
  digest: Buffer;
  pinned: PinnedFilters | null;
  idempotencyKey: string | null;
  test: boolean;
  asOf: Date;
  counted: CandidateCount;
  priceMillicents: number;
}

/** Inserts a pending operation with its reservation. */
export async function insertOperation(
  trx: Queryable,
  { accountId, brandId }: BrandScope,
  { audience, digest, pinned, idempotencyKey, test, asOf, counted, priceMillicents }: NewOperation,
): Promise<OperationRow> {
  const chargeable = test ? 0 : counted.candidates - counted.reusable;
  const reserved = chargeable * priceMillicents;
  const row = await OperationModel.on(trx)
    .insert({
      ...{ account_id: accountId, brand_id: brandId, test, idempotency_key: idempotencyKey, as_of: asOf },
      ...{ audience_kind: audience.kind, audience_ids: audience.ids, audience_digest: digest },
      ...{ filters: pinned?.filters ?? null, segments: pinned?.segments ?? null },
      ...{ max_contact_id: counted.maxContactId, candidate_count: counted.candidates },
      ...{ chargeable_count: chargeable, price_millicents: priceMillicents, reserved_millicents: reserved },
      ...{ price_month: monthOf(reserved), engine_expected_by: soon() },
    })
    .returning(selected());
  return oneOf([row]) as OperationRow;
}

/** @returns null if the brand has no such operation */
export async function findOperation(
  db: Queryable,
  scope: BrandScope,
  id: number,
): Promise<OperationRow | null> {
  return oneOf(await OperationModel.ofBrand(db, scope).where('id', id).select(selected()));
}

/**
 * Reads any operation, for its workflow.
 * @param lock keeps other transactions from changing it until the commit
 */
export async function readOperation(
  db: Queryable,
  id: number,
  { lock = false } = {},
): Promise<OperationRow | null> {
  const query = OperationModel.on(db).where('id', id).select(selected());
  return oneOf(await (lock ? query.forUpdate() : query));
}

/** Finds the operation that was started with an idempotency key, and whether it is for this audience. */
export async function findByKey(
  db: Queryable,
  { brandId }: BrandScope,
  { key, test, digest }: { key: string; test: boolean; digest: Buffer },
): Promise<(OperationRow & { same: boolean }) | null> {
  const { rows } = await db.query<OperationRow & { same: boolean }>(
    `select ${COLUMNS}, o.audience_digest = $4 as same from validation_operations o
     where o.brand_id = $1 and o.test = $2 and o.idempotency_key = $3`,
    [brandId, test, key, digest],
  );
  return rows[0] ?? null;
}

/** Counts the account's unfinished operations, and those of the brand for the same audience. */
export async function countUnfinished(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  { test, digest }: { test: boolean; digest: Buffer },
): Promise<{ all: number; same: number }> {
  const { rows } = await db.query<{ all: number; same: number }>(
    `select count(*) as all, count(*) filter (where brand_id = $2 and audience_digest = $4) as same
     from validation_operations where account_id = $1 and test = $3 and status in ('pending', 'running')`,
    [accountId, brandId, test, digest],
  );
  return rows[0] ?? { all: 0, same: 0 };
}

/** Lists operations, newest first. */
export async function findOperations(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  { status, testOnly }: { status: OperationStatus | undefined; testOnly: boolean },
  page: Page,
): Promise<{ rows: OperationRow[]; count: RowCount }> {
  const source = `validation_operations o where o.account_id = $1 and o.brand_id = $2
    and ($3::text is null or o.status = $3) and (o.test or not $4)`;
  const values = [accountId, brandId, status ?? null, testOnly];
  const below = page.after === null ? '' : `and o.id < ${page.after}`;
  const { rows } = await db.query<OperationRow>(
    `select ${COLUMNS} from ${source} ${below} order by o.id desc limit ${page.limit} offset ${page.offset}`,
    values,
  );
  return { rows, count: await countRows(db, source, values) };
}

/**
 * Starts a failed operation again: it becomes pending, with a new reservation.
 * @param row locked
 */
export async function resumeRow(
  trx: Queryable,
  { id, run }: OperationRow,
  reservedMillicents: number,
): Promise<OperationRow> {
  const rows = await OperationModel.on(trx)
    .where({ id, status: 'failed' })
    .patch({
      ...{ status: 'pending', run: run + 1, reserved_millicents: reservedMillicents, finished_at: null },
      ...{ price_month: monthOf(reservedMillicents), engine_expected_by: soon() },
    })
    .returning(selected());
  return oneOf(rows) as OperationRow;
}

/** Records that the workflow of an unfinished operation is active. */
export async function expectOperation(db: Queryable, id: number): Promise<void> {
  await OperationModel.on(db)
    .where('id', id)
    .whereIn('status', ['pending', 'running'])
    .patch({ engine_expected_by: soon() });
}

/** Ends a locked operation. Its results are charged by now, and its reservation ends. */
export async function settleRow(trx: Queryable, id: number, status: OperationStatus): Promise<void> {
  await OperationModel.on(trx)
    .where('id', id)
    .patch({
      ...{ status, finished_at: fn.now(), engine_expected_by: null },
      ...{ reserved_millicents: 0, charged_count: ref('priced_count') },
    });
}

/** Number of candidates without a result that may still be charged. */
export function uncheckedChargeable(row: OperationRow): number {
  const reservable = row.snapshot_complete ? row.taken_chargeable_count : row.chargeable_count;
  return reservable - row.checked_chargeable_count;
}
