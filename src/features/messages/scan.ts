import type { Tenant } from '../../platform/auth/tenant.ts';
import { type IdScan, scanned, type ScannedIds } from '../../platform/db/id-scan.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { findByKey, conditionsOf, type MessageFilters } from './list.ts';
import { findIdSpan } from './id-span.ts';
import { MESSAGE_JOINS, messageColumns, sendingSql } from './model.ts';
import type { MessageRow } from './presenter.ts';

type Scope = Pick<Tenant, 'accountId' | 'brandId'>;

/** @returns 0 if the brand has no messages */
export async function highestMessageId(db: Queryable, { brandId }: Scope): Promise<number> {
  const { rows } = await db.query<{ id: number }>(
    'select id from messages where brand_id = $1 order by id desc limit 1',
    [brandId],
  );
  return rows[0]?.id ?? 0;
}

/** Finds the messages of a page that match the filters of the list. */
export async function scanMessages(
  db: Queryable,
  scope: Scope,
  filters: MessageFilters,
  scan: IdScan,
): Promise<ScannedIds> {
  const [span, keyed] = await Promise.all([
    findIdSpan(db, scope.brandId, filters),
    filters.idempotencyKey === undefined ? [] : findByKey(db, scope, filters.idempotencyKey),
  ]);
  const { found, checked, values } = conditionsOf(scope, filters, span, keyed);
  const position = values.length;
  const within = [...found, `m.id > $${position + 1}`, `m.id <= $${position + 2}`].join(' and ');
  const { rows } = await db.query<{ id: number; matches: boolean }>(
    `select m.id, ${checked.length === 0 ? 'true' : checked.join(' and ')} as matches
     from (select m.* from messages m where ${within} order by m.id limit $${position + 3}) m order by m.id`,
    [...values, scan.after, scan.upTo, scan.maxRows],
  );
  return scanned(rows, scan);
}

/** @returns the messages of the brand that still exist, in ascending order of ids */
export async function findMessages(
  db: Queryable,
  { brandId }: Scope,
  ids: readonly number[],
): Promise<MessageRow[]> {
  const { rows } = await db.query<MessageRow>(
    `select ${messageColumns}, ${sendingSql} as sending
     from messages m ${MESSAGE_JOINS}
     where m.brand_id = $1 and m.id = any($2) order by m.id`,
    [brandId, ids],
  );
  return rows;
}
