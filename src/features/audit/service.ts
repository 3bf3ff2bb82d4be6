import type { AccountScope } from '../../platform/db/model.ts';
import { countRows, type Page, type RowCount } from '../../platform/db/paging.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { AuditEntry, ListAuditQuery } from './schema.ts';

type EntryRow = Omit<AuditEntry, 'created_at'> & { created_at: Date };

const COLUMNS =
  'id, created_at, actor_kind, actor_id, actor_name, action, brand_id, resource_id, status, ip, request_id';

/** Finds a page of the audit log of an account, newest first. */
export async function listEntries(
  db: Queryable,
  { accountId }: AccountScope,
  query: ListAuditQuery,
  page: Page,
): Promise<{ entries: AuditEntry[]; count: RowCount }> {
  const values: unknown[] = [accountId];
  const given = [
    ['actor_kind =', query.actor_kind],
    ['actor_id =', query.actor_id],
    ['action =', query.action],
    ['created_at >', query.created_after],
    ['created_at <', query.created_before],
  ] as const;
  const conditions = given.flatMap(([test, value]) =>
    value === undefined ? [] : [`and ${test} $${values.push(value)}`],
  );
  const source = `audit_entries where account_id = $1 ${conditions.join(' ')}`;
  const below = page.after === null ? '' : `and id < ${page.after}`;
  const { rows } = await db.query<EntryRow>(
    `select ${COLUMNS} from ${source} ${below} order by id desc limit ${page.limit} offset ${page.offset}`,
    values,
  );
  const entries = rows.map((row) => ({ ...row, created_at: row.created_at.toISOString() }));
  return { entries, count: await countRows(db, source, values) };
}
