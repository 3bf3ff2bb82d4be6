import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import type { AcceptedMail, ReadMail } from '../../src/features/inbox/mail/mail.ts';
import { createMailReader, type MailReaderOptions } from '../../src/features/inbox/mail/reader.ts';
import { newBlobKey, type BlobStore } from '../../src/platform/storage/blob-store.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';

/** A reader of mails with a storage of its own. */
export interface TestMailReader {
  store: BlobStore;
  /** Stores a mail as if it had been accepted, and reads it. LF in a string becomes CRLF. */
  read(raw: Buffer | string, session?: Partial<AcceptedMail>): Promise<ReadMail>;
  /** Ends the reader and removes its storage. */
  close(): Promise<void>;
}

/** By default no name server answers, and all look-ups of a mail are given up after a millisecond. */
export async function startMailReader(options: Partial<MailReaderOptions> = {}): Promise<TestMailReader> {
  const home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
  const store = createHomeStore(home);
  const log = pino({ level: 'silent' });
  const nowhere = { dnsServers: ['127.0.0.1:9'], lookUpMs: 1 };
  const reader = createMailReader({
    home,
    log,
    ...(options.dnsServers ? {} : nowhere),
    ...options,
  } as MailReaderOptions);
  return {
    store,
    async read(raw, session = {}) {
      const bytes = typeof raw === 'string' ? Buffer.from(raw.replace(/\r?\n/g, '\r\n')) : raw;
      const rawKey = newBlobKey('inbox', 1);
      await store.put(rawKey, bytes);
      return reader.read({
        accountId: 1,
        rawKey,
        size: bytes.length,
        envelopeFrom: 'ada@example.com',
        recipient: 'support@inbox.example.org',
        ip: null,
        helo: null,
        ...session,
      });
    },
    async close() {
      await reader.close();
      await rm(home, { recursive: true, force: true });
    },
  };
}
