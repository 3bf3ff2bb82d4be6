import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import type { Inboxes } from '../../src/delivery/wire/inbound/inboxes.ts';
import { resolveInboxAddress } from '../../src/features/inbox/inboxes/resolve.ts';
import { createMailAcceptance, type MailAcceptanceDeps } from '../../src/features/inbox/receive/accept.ts';
import { type Database, openDatabase } from '../../src/platform/db/database.ts';
import { createWaker } from '../../src/platform/db/wake.ts';
import type { BlobStore } from '../../src/platform/storage/blob-store.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';

/** The acceptance of mail to inboxes, with a folder of its own. */
export interface TestAcceptance {
  inboxes: Inboxes;
  store: BlobStore;
  /** The folder of the store. */
  home: string;
  /** The keys of the stored blobs. */
  keys(): Promise<string[]>;
  /** The rows of accepted mails, oldest first. */
  mails(): Promise<AcceptedRow[]>;
  /** Bytes counted for an account; null: none was ever counted. */
  bytesOf(accountId: number): Promise<number | null>;
  stop(): Promise<void>;
}

export interface AcceptedRow {
  account_id: number;
  brand_id: number;
  inbox_id: number;
  raw_key: string;
  size: number;
  envelope_from: string;
  recipient: string;
  ip: string | null;
  helo: string | null;
  source: string;
  answers_message_id: number | null;
  report_claims: number | null;
}

async function keysIn(store: BlobStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const listing of store.list('inbox', 1_000)) keys.push(...listing.keys, ...listing.drafts);
  return keys;
}

/**
 * Starts the acceptance of mail at mail.test.
 * @param url of the database
 * @param database for what the tests read, which may be reachable while `url` is not
 */
export function startTestAcceptance(
  url: string,
  { pool }: Database,
  changes: Partial<MailAcceptanceDeps> = {},
): TestAcceptance {
  const home = mkdtempSync(join(tmpdir(), 'carillon-inbox-'));
  const store = createHomeStore(home);
  const database = openDatabase({ url, poolMax: 4, keyedPlans: true });
  const waker = createWaker({ url });
  const inboxes = createMailAcceptance({
    pool: database.pool,
    store,
    waker,
    resolve: (address) => resolveInboxAddress(database.pool, address, 'mail.test'),
    quotaBytes: 1024 ** 3,
    log: pino({ level: 'silent' }),
    ...changes,
  });
  return {
    inboxes,
    store,
    home,
    keys: () => keysIn(store),
    async mails() {
      const { rows } = await pool.query<AcceptedRow>(
        `select account_id, brand_id, inbox_id, raw_key, size, envelope_from, recipient, ip, helo, source,
           answers_message_id, report_claims from inbound_mails order by id`,
      );
      return rows;
    },
    async bytesOf(accountId) {
      const sql = 'select bytes from inbox_storage where account_id = $1';
      const { rows } = await pool.query<{ bytes: number }>(sql, [accountId]);
      return rows[0]?.bytes ?? null;
    },
    async stop() {
      await waker.close();
      await database.close();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
