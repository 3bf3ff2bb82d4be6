import type { BrandScope } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Audience, CandidateCount, PinnedFilters } from './audience.ts';
import { type AudienceKind, type OperationStatus, SHOWN_IDS } from './schema.ts';

/** A row of `validation_operations`, without the filters and the ids that clients do not see. */
export interface OperationRow {
  id: number;
  account_id: number;
  brand_id: number;
  test: boolean;
  audience_kind: AudienceKind;
  shown_ids: number[];
  ids_count: number;
  status: OperationStatus;
  as_of: Date;
  max_contact_id: number;
  cursor_id: number;
  snapshot_complete: boolean;
  candidate_count: number;
  chargeable_count: number;
  taken_count: number;
  taken_chargeable_count: number;
  deliverable_count: number;
  undeliverable_count: number;
  risky_count: number;
  unknown_count: number;
  /** Number of results that cost the price. */
  priced_count: number;
  /** Number of items with a result, among those with a reservation. */
  checked_chargeable_count: number;
  run: number;
  price_millicents: number;
  /** The month of the reservation, as `YYYY-MM-DD`; null if nothing was reserved. */
  price_month: string | null;
  reserved_millicents: number;
  charged_count: number;
  created_at: Date;
  finished_at: Date | null;
  items_removed_at: Date | null;
}

const COLUMNS = `o.id, o.account_id, o.brand_id, o.test, o.audience_kind, o.audience_ids[1:${SHOWN_IDS}] as shown_ids,
  cardinality(o.audience_ids) as ids_count, o.status, o.as_of, o.max_contact_id, o.cursor_id, o.snapshot_complete,
  o.candidate_count, o.chargeable_count, o.taken_count, o.taken_chargeable_count, o.deliverable_count,
  o.undeliverable_count, o.risky_count, o.unknown_count, o.priced_count, o.checked_chargeable_count, o.run,
  o.price_millicents, o.price_month::text, o.reserved_millicents, o.charged_count, o.created_at, o.finished_at, o.items_removed_at`;

/** The workflow reports at least this often. */
export const GRACE = `interval '2 minutes'`;

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
  const { rows } = await trx.query<OperationRow>(
    `insert into validation_operations as o (account_id, brand_id, test, idempotency_key, audience_kind, audience_ids,
       audience_digest, filters, as_of, max_contact_id, candidate_count, chargeable_count, price_millicents,
       reserved_millicents, segments, price_month, engine_expected_by)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
       case when $14::bigint > 0 then current_month() end, now() + ${GRACE})
     returning ${COLUMNS}`,
    [
      accountId,
      brandId,
      test,
      idempotencyKey,
      audience.kind,
      audience.ids,
      digest,
      pinned && JSON.stringify(pinned.filters),
      asOf,
      counted.maxContactId,
      counted.candidates,
      chargeable,
      priceMillicents,
      reserved,
      pinned && JSON.stringify(pinned.segments),
    ],
  );
  return rows[0] as OperationRow;
}

/** @returns null if the brand has no such operation */
export async function findOperation(
  db: Queryable,
  { accountId, brandId }: BrandScope,
  id: number,
): Promise<OperationRow | null> {
  const { rows } = await db.query<OperationRow>(
    `select ${COLUMNS} from validation_operations o where o.account_id = $1 and o.brand_id = $2 and o.id = $3`,
    [accountId, brandId, id],
  );
  return rows[0] ?? null;
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
  const { rows } = await db.query<OperationRow>(
    `select ${COLUMNS} from validation_operations o where o.id = $1 ${lock ? 'for update' : ''}`,
    [id],
  );
  return rows[0] ?? null;
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
  const { rows } = await trx.query<OperationRow>(
    `update validation_operations o set status = 'pending', run = $2, reserved_millicents = $3,
       price_month = case when $3::bigint > 0 then current_month() end, finished_at = null,
       engine_expected_by = now() + ${GRACE}
     where o.id = $1 and o.status = 'failed' returning ${COLUMNS}`,
    [id, run + 1, reservedMillicents],
  );
  return rows[0] as OperationRow;
}

/** Number of candidates without a result that may still be charged. */
export function uncheckedChargeable(row: OperationRow): number {
  const reservable = row.snapshot_complete ? row.taken_chargeable_count : row.chargeable_count;
  return reservable - row.checked_chargeable_count;
}
