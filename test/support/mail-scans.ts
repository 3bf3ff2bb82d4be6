import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { createClamdScanner } from '../../src/features/inbox/scan/clamd.ts';
import { createMailScan, type MailScan } from '../../src/features/inbox/scan/scan.ts';
import type { Database } from '../../src/platform/db/database.ts';
import { type BlobStore, newBlobKey } from '../../src/platform/storage/blob-store.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import { arrivalDeps, insertReadMail } from './inbox-mails.ts';

interface Owner {
  accountId: number;
  brandId: number;
}

/** A folder of blobs. */
export interface TestStore {
  /** CARILLON_HOME */
  home: string;
  store: BlobStore;
  remove(): Promise<void>;
}

export async function createTestStore(): Promise<TestStore> {
  const home = await mkdtemp(join(tmpdir(), 'inbox-'));
  return { home, store: createHomeStore(home), remove: () => rm(home, { recursive: true, force: true }) };
}

/** The work of scans as the worker does it. @param url of the scanner; null: none */
export function mailScan({ pool }: Database, store: BlobStore, url: string | null): MailScan {
  const scanner =
    url === null ? null : createClamdScanner(url, { connectMs: 5_000, idleMs: 5_000, scanMs: 20_000 });
  return createMailScan({ pool, store, scanner, arrival: arrivalDeps(), log: pino({ level: 'silent' }) });
}

export interface StoredMail {
  id: number;
  /** The ids of its attachments. */
  attachments: number[];
}

/** Stores a mail that is to be scanned, with its files. */
export async function insertMailToScan(
  database: Database,
  store: BlobStore,
  owner: Owner,
  mail: {
    inboxId: number;
    raw?: string;
    attachments?: string[];
    receivedAt?: Date;
    quarantine?: object | null;
  },
): Promise<StoredMail> {
  const { accountId } = owner;
  const stored = async (content: string) => {
    const key = newBlobKey('inbox', accountId);
    await store.put(key, Buffer.from(content));
    return key;
  };
  const raw = mail.raw ?? 'the mail';
  const id = await insertReadMail(database, owner, mail.inboxId, { quarantine: mail.quarantine ?? null });
  await database.pool.query(
    `update conversation_messages set raw_key = $2, raw_size = $3, scan_state = 'pending', received_at = $4,
       engine_expected_by = now() + interval '10 minutes' where id = $1`,
    [id, await stored(raw), raw.length, mail.receivedAt ?? new Date()],
  );
  const attachments: number[] = [];
  for (const [index, content] of (mail.attachments ?? []).entries()) {
    const { rows } = await database.pool.query<{ id: number }>(
      `insert into conversation_attachments (account_id, conversation_message_id, filename, content_type, size,
         storage_key, scan_status) values ($1, $2, $3, 'text/plain', $4, $5, 'pending') returning id`,
      [accountId, id, `${index}.txt`, content.length, await stored(content)],
    );
    attachments.push(rows[0]?.id ?? 0);
  }
  return { id, attachments };
}
