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
import { foldBase64 } from '../../src/platform/storage/folded.ts';
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
