/** How each action changes a page of contacts or conversations. */
import { withoutRefused } from '../../platform/db/refused-data.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type ConsentDeps, deleteContacts, lockConsent, unsubscribeContacts } from '../contacts/service.ts';
import { deleteConversations, lockInboxesOfConversations } from '../inbox/index.ts';
import { addToLists, removeFromList } from '../lists/service.ts';
import type { BulkActionRow } from './model.ts';
import type { StoredKind } from './schema.ts';

interface Kind {
  /** Maximum number of contacts or conversations in one transaction, so that it keeps its locks only briefly. */
  pageSize: number;
  /** Whether contacts get no more mail. */
  stopsMail: boolean;
  /** Takes locks that come before those of contacts and lists. */
  lock?(trx: Queryable, row: BulkActionRow): Promise<void>;
  /** Takes locks until which what matches may change. The page is checked again under them. */
  lockPage?(trx: Queryable, ids: readonly number[]): Promise<void>;
  /** @returns the number of those that were different before */
  change(trx: Queryable, deps: ConsentDeps, row: BulkActionRow, ids: readonly number[]): Promise<number>;
}

export const scopeOf = ({ account_id: accountId, brand_id: brandId }: BulkActionRow) => ({
  accountId,
  brandId,
});
const listOf = (row: BulkActionRow): number => row.list_id ?? 0;

export const kinds: Record<StoredKind, Kind> = {
  delete: {
    pageSize: 200,
    stopsMail: true,
    change: (trx, _deps, row, ids) => deleteContacts(trx, scopeOf(row), ids),
  },
  unsubscribe: {
    // Each contact takes several statements, under a lock that other opt-outs of the brand wait for.
    pageSize: 100,
    stopsMail: true,
    lock: (trx, row) => lockConsent(trx, row.brand_id, 'alone'),
    change: (trx, deps, row, ids) => unsubscribeContacts(trx, deps, scopeOf(row), ids),
  },
  add_to_list: {
    pageSize: 2_000,
    stopsMail: false,
    change: async (trx, _deps, row, ids) => (await addToLists(trx, ids, [listOf(row)])).length,
  },
  remove_from_list: {
    pageSize: 2_000,
    stopsMail: false,
    change: async (trx, _deps, row, ids) => (await removeFromList(trx, ids, listOf(row))).length,
  },
  delete_conversations: {
    // A conversation may have many messages.
    pageSize: 50,
    stopsMail: false,
    lockPage: lockInboxesOfConversations,
    change: (trx, _deps, row, ids) => deleteConversations(trx, scopeOf(row), ids),
  },
};

/** Changes a page. What the database refuses fails, and the others are changed. */
export async function changePage(
  trx: Queryable,
  deps: ConsentDeps,
  row: BulkActionRow,
  all: readonly number[],
): Promise<{ changed: number; failed: number }> {
  const done = { changed: 0, failed: 0 };
  const { change } = kinds[row.action];
  await withoutRefused(
    all,
    async (ids) => {
      await trx.query('savepoint changing');
      try {
        const changed = await change(trx, deps, row, ids);
        await trx.query('release savepoint changing');
        done.changed += changed;
      } catch (error) {
        await trx.query('rollback to savepoint changing');
        throw error;
      }
    },
    () => void (done.failed += 1),
  );
  return done;
}
