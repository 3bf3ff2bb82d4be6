/**
 * Files that several mails of an account use: a message to several of its inboxes is stored once, and so are its
 * attachments. A trigger of `inbox_removed_files` counts the uses down and lets only the last one remove the file, so that
 * all who delete mail can ignore this.
 */
import type { Queryable } from '../../../platform/db/queryable.ts';

/** A file, and how many more mails use it than the table knows. */
export interface SharedFile {
  key: string;
  accountId: number;
  uses: number;
}

/** Adds uses of files. A file that was not shared before has all its uses in `uses`, with the first. */
export async function shareFiles(trx: Queryable, files: readonly SharedFile[]): Promise<void> {
  if (files.length === 0) return;
  await trx.query({
    name: 'share_inbox_files',
    text: `insert into inbox_shared_files as s (key, account_id, uses)
      select * from unnest($1::text[], $2::bigint[], $3::int[]) as f (key, account_id, uses) order by key
      on conflict (key) do update set uses = s.uses + excluded.uses - 1`,
    values: [
      files.map(({ key }) => key),
      files.map(({ accountId }) => accountId),
      files.map(({ uses }) => uses),
    ],
  });
}

/** Locks those of the files that are shared, in the order of their keys. @returns their keys */
export async function lockSharedFiles(trx: Queryable, keys: readonly string[]): Promise<Set<string>> {
  const { rows } = await trx.query<{ key: string }>({
    name: 'lock_shared_inbox_files',
    text: 'select key from inbox_shared_files where key = any($1) order by key for update',
    values: [keys],
  });
  return new Set(rows.map(({ key }) => key));
}
