/** Removes files that no message and no upload names any more. */
import type pg from 'pg';
import { inTransaction } from '../../platform/db/queryable.ts';
import {
  type FileRemovalDeps,
  type RemovedFiles,
  removeFiles,
} from '../../platform/housekeeping/removed-files.ts';
import type { Pulse } from '../../platform/processes/pulse.ts';
import type { Repeating } from '../../platform/processes/repeat.ts';

const FILES_AT_ONCE = 200;

const removedFiles: RemovedFiles = {
  table: 'attachment_removed_files',
  keyColumn: 'storage_key',
  forgetSql: `delete from attachment_removed_files where storage_key = any(array(
    select storage_key from attachment_removed_files where storage_key = any($1) and account_id = $2
    order by storage_key for update skip locked))`,
};

interface DueFile {
  account_id: number;
  sha256: Buffer;
}

/**
 * Locks files that are due at `$1`. A message that is being accepted with one has locked it, and the next round looks at
 * it again.
 */
const lockDueSql = `
  select account_id, sha256 from attachment_files where kept_until <= coalesce($1, now())
  order by kept_until limit $2 for update skip locked`;

/**
 * Deletes those of the locked files that nothing names. Runs after they were locked, so that it sees every message that
 * was accepted with them. The others are looked at again a day later: an operator may keep contents for longer than was
 * set when they were stored.
 */
const deleteUnusedSql = `
  with due as (
    select * from unnest($2::bigint[], $3::bytea[]) as d (account_id, sha256)
  ), used as (
    select * from due d
    where exists (select from attachment_uploads u where u.account_id = d.account_id and u.sha256 = d.sha256)
      or exists (
        select from message_attachments m where m.account_id = d.account_id and m.sha256 = d.sha256 and m.stored)
  ), put_off as (
    update attachment_files f set kept_until = coalesce($1, now()) + interval '1 day' from used u
    where f.account_id = u.account_id and f.sha256 = u.sha256
  )
  delete from attachment_files f using due d
  where f.account_id = d.account_id and f.sha256 = d.sha256
    and not exists (select from used u where u.account_id = d.account_id and u.sha256 = d.sha256)`;

/** @returns how many files were looked at, and how many of their rows were deleted */
function deleteSome(pool: pg.Pool, asOf: Date | null): Promise<{ seen: number; deleted: number }> {
  return inTransaction(pool, async (trx) => {
    const { rows } = await trx.query<DueFile>(lockDueSql, [asOf, FILES_AT_ONCE]);
    if (rows.length === 0) return { seen: 0, deleted: 0 };
    const columns = [rows.map((row) => row.account_id), rows.map((row) => row.sha256)];
    const { rowCount } = await trx.query(deleteUnusedSql, [asOf, ...columns]);
    return { seen: rows.length, deleted: rowCount ?? 0 };
  });
}

/**
 * Removes the files that are due and that nothing names: first their rows, then their bytes. Any number of processes may
 * do so at once.
 * @param asOf when files are due; null: now
 * @param progress called after each batch
 * @returns how many files were removed
 */
export async function removeUnusedFiles(
  deps: FileRemovalDeps,
  asOf: Date | null = null,
  progress: () => void = () => undefined,
): Promise<number> {
  for (;;) {
    const { seen } = await deleteSome(deps.pool, asOf);
    progress();
    if (seen < FILES_AT_ONCE) break;
  }
  return removeFiles(deps, removedFiles, progress);
}

/** Removes files within a second, so that an erased message leaves none behind. Any number of processes may run this. */
export function startAttachmentRemoval({ pulse, ...deps }: FileRemovalDeps & { pulse: Pulse }): Repeating {
  const queue = {
    name: 'removing files of messages',
    waiting: `exists (select from attachment_removed_files)
      or exists (select from attachment_files where kept_until <= now())`,
  };
  return pulse.repeat(queue, async () => {
    await removeUnusedFiles(deps);
    return false;
  });
}
