import type { IdScan, ScannedIds } from '../../platform/db/id-scan.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { segmentCondition, type SqlCondition } from '../segments/index.ts';
import { type ContactFilters, conditionsOf } from './list.ts';

/** Whose contacts, and the time at which the periods of a segment end. */
export interface ContactScope extends BrandScope {
  asOf: Date;
}

/** @returns 0 if the brand has no contacts */
export async function highestContactId(db: Queryable, { brandId }: BrandScope): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    'select id from contacts where brand_id = $1 order by id desc limit 1',
    [brandId],
  );
  return rows[0]?.id ?? 0;
}

/** A condition beside the filters of the list. @param firstParameter the number of its first parameter */
type FurtherCondition = (firstParameter: number) => Promise<SqlCondition>;

/** Finds the contacts of a page that match filters of the list and a further condition. */
export async function scanMatching(
  db: Queryable,
  scope: BrandScope,
  filters: Omit<ContactFilters, 'segment_id'>,
  further: FurtherCondition,
  scan: IdScan,
): Promise<ScannedIds> {
  const page = await db.query<{ last_id: number | null; count: number }>(
    `select max(id) as last_id, count(*)::int as count from (
       select id from contacts where brand_id = $1 and id > $2 and id <= $3 order by id limit $4) page`,
    [scope.brandId, scan.after, scan.upTo, scan.maxRows],
  );
  const { last_id: lastId, count } = page.rows[0] ?? { last_id: null, count: 0 };
  const scannedTo = lastId === null || count < scan.maxRows ? scan.upTo : lastId;
  const { sql, values } = conditionsOf(scope, filters);
  const first = values.length + 1;
  const condition = await further(first + 2);
  const { rows } = await db.query<{ id: number }>(
    `select c.id from contacts c
     where ${sql} and c.id > $${first} and c.id <= $${first + 1} and (${condition.sql}) order by c.id`,
    [...values, scan.after, scannedTo, ...condition.values],
  );
  return { ids: rows.map(({ id }) => id), scannedTo };
}

/**
 * Finds the contacts of a page that match the filters of the list.
 * @throws AppError not_found if the segment was deleted
 */
export async function scanContacts(
  db: Queryable,
  scope: ContactScope,
  { segment_id: segmentId, ...filters }: ContactFilters,
  scan: IdScan,
): Promise<ScannedIds> {
  const ofSegment: FurtherCondition = async (firstParameter) =>
    segmentId === undefined
      ? { sql: 'true', values: [] }
      : segmentCondition(db, { ...scope, paged: true }, segmentId, firstParameter);
  return scanMatching(db, scope, filters, ofSegment, scan);
}

/** Counts the most frequent keys of `data` in these contacts. Keys longer than `maxBytes` are left out. */
export async function countDataKeys(
  db: Queryable,
  { brandId }: BrandScope,
  ids: readonly number[],
  { maxKeys, maxBytes }: { maxKeys: number; maxBytes: number },
): Promise<Map<string, number>> {
  const { rows } = await db.query<{ key: string; count: number }>(
    `select k.key, count(*)::int as count from contacts c, jsonb_object_keys(c.data) as k (key)
     where c.brand_id = $1 and c.id = any($2) and octet_length(k.key) <= $4
     group by k.key order by count(*) desc, k.key limit $3`,
    [brandId, ids, maxKeys, maxBytes],
  );
  return new Map(rows.map(({ key, count }) => [key, count]));
}
