import { createHash } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, loadConfig } from '../../src/config.ts';
import {
  type Attachments,
  createAttachments,
  createFileDecoder,
  type ReadFile,
} from '../../src/features/attachments/service.ts';
import type { Tenant } from '../../src/platform/auth/tenant.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { foldBase64, openFolded } from '../../src/platform/storage/folded.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import type { BlobStore } from '../../src/platform/storage/blob-store.ts';
import type { TestTenant } from './api.ts';

/** The files of messages, in a home of their own. */
export interface AttachmentStage {
  attachments: Attachments;
  config: Config;
  store: BlobStore;
  /** The storage keys of the account's files that are in the folder, in order. */
  blobs(accountId: number): Promise<string[]>;
  close(): Promise<void>;
}

export async function createAttachmentStage(
  database: Database,
  env: Record<string, string> = {},
): Promise<AttachmentStage> {
  const home = await mkdtemp(join(tmpdir(), 'carillon-attachments-'));
  const config = loadConfig({ ...env, CARILLON_HOME: home });
  const fileDecoder = createFileDecoder();
  return {
    attachments: createAttachments({ config, database, fileDecoder }),
    config,
    store: createHomeStore(home),
    async blobs(accountId) {
      const folder = `attachments/${accountId}`;
      const names = await readdir(join(home, 'blobs', folder)).catch(() => []);
      return names.map((name) => `${folder}/${name}`).toSorted();
    },
    async close() {
      await fileDecoder.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}

/** The tenant of a request with the live or the test key. */
export const callerOf = ({ accountId, brandId, apiKeyId }: TestTenant, test = false): Tenant => ({
  ...{ accountId, brandId, role: 'admin' },
  actor: { kind: 'api_key', id: apiKeyId, test },
});

/** A file as it was read from a request. */
export function readFileOf(text: string): ReadFile {
  const bytes = Buffer.from(text);
  return {
    ...{ filename: 'a.txt', contentType: 'text/plain', contentId: null, disposition: 'attachment' },
    ...{ size: bytes.length, sha256: createHash('sha256').update(bytes).digest() },
    ...{ folded: foldBase64(bytes.toString('base64')), field: 'attachments.0.content' },
  };
}

/** `blobsWithoutRow` may have what a killed process left, until housekeeping has run. The others are always empty. */
interface FileFaults {
  /** Storage keys of rows whose blob is missing, or has other bytes than the row says. */
  rowsWithoutBlob: string[];
  /** Letters that name a file which has no row. */
  lettersWithoutRow: number[];
  /** Storage keys of blobs that no row refers to, and names of half-written ones. */
  blobsWithoutRow: string[];
}

async function isIntact(store: BlobStore, key: string, sha256: Buffer): Promise<boolean> {
  const bytes = await openFolded(store, key);
  if (!bytes) return false;
  const hash = createHash('sha256');
  for await (const piece of bytes) hash.update(piece as Buffer);
  return hash.digest().equals(sha256);
}

async function namesIn(store: BlobStore): Promise<string[]> {
  const names: string[] = [];
  for await (const { keys, drafts } of store.list('attachments', 1_000)) names.push(...keys, ...drafts);
  return names;
}

/** Compares the files of messages with their rows, as fsck does. May run while files are accepted and removed. */
export async function faultsOfFiles({ pool }: Database, home: string): Promise<FileFaults> {
  const store = createHomeStore(home);
  const names = await namesIn(store);
  const { rows: files } = await pool.query<{ key: string; sha256: Buffer }>(
    'select storage_key as key, sha256 from attachment_files',
  );
  const suspects: string[] = [];
  for (const { key, sha256 } of files) if (!(await isIntact(store, key, sha256))) suspects.push(key);
  // The row goes first, so a blob that was removed since then has no row now.
  const { rows: broken } = await pool.query<{ key: string }>(
    'select storage_key as key from attachment_files where storage_key = any($1) order by 1',
    [suspects],
  );
  const { rows: letters } = await pool.query<{ id: number }>(
    `select distinct message_id as id from message_attachments a where stored and not exists (
       select from attachment_files f where f.account_id = a.account_id and f.sha256 = a.sha256) order by 1`,
  );
  const { rows: known } = await pool.query<{ key: string }>(
    'select storage_key as key from attachment_files union all select storage_key from attachment_removed_files',
  );
  const keys = new Set(known.map(({ key }) => key));
  return {
    rowsWithoutBlob: broken.map(({ key }) => key),
    lettersWithoutRow: letters.map(({ id }) => id),
    blobsWithoutRow: names.filter((name) => !keys.has(name)).toSorted(),
  };
}
