// One letter with a file reaches three people whole: one message to read, and an envelope for each of them.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import { createEmailChannel } from '../../../src/delivery/sender/email/hand-over.ts';
import { createSmtpProvider } from '../../../src/delivery/wire/providers/smtp/hand-over.ts';
import { type BlobStore, newBlobKey } from '../../../src/platform/storage/blob-store.ts';
import { foldedStore } from '../../../src/platform/storage/folded.ts';
import { createHomeStore } from '../../../src/platform/storage/local-disk.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { eventually } from '../../support/eventually.ts';
import { queueLetter } from '../../support/letters.ts';
import { insertAccount, statusCounts } from '../../support/queued.ts';
import {
  emailSettings,
  receivedAtLeast,
  startSmtpServer,
  startTestSender,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';

/** Too large to be kept in memory for the batch. */
const FILE_BYTES = 3_000_000;

let test: TestDatabase;
let server: TestSmtpServer;
let sender: TestSender;
let home: string;
let store: BlobStore;
beforeAll(async () => {
  test = await createTestDatabase();
  server = await startSmtpServer();
  home = await mkdtemp(join(tmpdir(), 'carillon-letters-'));
  store = createHomeStore(home);
  const target = { host: '127.0.0.1', port: server.port, security: 'none', clientName: 'mail.test' } as const;
  sender = await startTestSender({
    url: test.url,
    port: server.port,
    channel: createEmailChannel(createSmtpProvider({ target, connections: 2 }), {
      ...emailSettings(),
      letterFiles: store,
    }),
  });
});
afterAll(async () => {
  await sender.stop();
  await server.stop();
  await test.drop();
  await rm(home, { recursive: true, force: true });
});

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

it('sends each copy of a letter with its file and the header of all', async () => {
  const account = await insertAccount(test.database);
  const bytes = randomBytes(FILE_BYTES);
  const key = newBlobKey('attachments', account.accountId);
  await foldedStore(store).putStream(key, Readable.from([bytes]), { maxBytes: FILE_BYTES });
  sender.sender.setMode('paused');
  await queueLetter(test.database, account, {
    recipients: [
      { kind: 'to', address: 'ada@example.com' },
      { kind: 'cc', address: 'jo@example.org' },
      { kind: 'bcc', address: 'secret@example.net' },
    ],
    files: [FILE_BYTES],
  });
  await test.database.pool.query(
    `insert into attachment_files (account_id, sha256, storage_key, size, kept_until)
     select account_id, sha256, $1, size, now() from message_attachments`,
    [key],
  );
  sender.sender.setMode('running');
  await receivedAtLeast(server, 3);

  const recipients = server.received.map(({ to }) => to);
  expect(recipients.sort()).toEqual(['ada@example.com', 'jo@example.org', 'secret@example.net']);
  expect(new Set(server.received.map(({ from }) => from)).size).toBe(3);
  // The tags for the mail server name each copy.
  const [first, ...others] = server.received.map(({ raw }) => raw.slice(raw.indexOf('From: ')));
  for (const other of others) expect(other === first).toBe(true);
  const mail = await PostalMime.parse(first ?? '');
  expect(mail.to).toEqual([{ name: '', address: 'ada@example.com' }]);
  expect(mail.cc).toEqual([{ name: '', address: 'jo@example.org' }]);
  expect(first).not.toContain('secret@example.net');
  expect(mail.attachments.map(({ content }) => sha256(new Uint8Array(content as ArrayBuffer)))).toEqual([
    sha256(bytes),
  ]);
  await eventually(async () => expect(await statusCounts(test.database)).toEqual({ sent: 3 }));
});
