/** Removes deleted lists in pages: one statement for a million members would keep its locks for minutes. */
import type { Queryable } from '../../platform/db/queryable.ts';

const MEMBERS_AT_ONCE = 2_000;

/**
 * Removes a page of the members of a deleted list, and the list's row once it has none left. Several processes may do
 * so at once: they skip each other's rows.
 * @returns whether there may be more
 */
export async function removeDeletedLists(db: Queryable): Promise<boolean> {
  const { rows: deleted } = await db.query<{ id: number }>({
    name: 'find_deleted_list',
    text: 'select id from lists where removed_at is not null order by id limit 1',
  });
  const [list] = deleted;
  if (!list) return false;
  const { rowCount } = await db.query({
    name: 'remove_members_of_deleted_list',
    text: `
    delete from list_members where list_id = $1 and contact_id = any (array(
      select contact_id from list_members where list_id = $1
      order by contact_id limit ${MEMBERS_AT_ONCE} for update skip locked))`,
    values: [list.id],
  });
  if ((rowCount ?? 0) > 0) return true;
  // If a transaction was adding members when the list was deleted, it keeps the list's row locked until it ends.
  const { rowCount: removed } = await db.query({
    name: 'remove_deleted_list',
    text: `
    delete from lists where id = (
      select l.id from lists l
      where l.id = $1 and l.removed_at is not null
        and not exists (select 1 from list_members m where m.list_id = l.id) for update skip locked)`,
    values: [list.id],
  });
  return (removed ?? 0) > 0;
}
