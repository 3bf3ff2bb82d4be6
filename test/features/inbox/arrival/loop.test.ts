// The loop reads what was accepted and writes it once, whatever fails in between.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import {
  type InboundLoop,
  type InboundLoopDeps,
  startInboundLoop,
} from '../../../../src/features/inbox/arrival/loop.ts';
import { parseHeader } from '../../../../src/delivery/content/read/header-fields.ts';
import { readHeader } from '../../../../src/features/inbox/mail/header.ts';
import { type AcceptedMail, type ReadMail, SlowMailError } from '../../../../src/features/inbox/mail/mail.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createWaker, type Waker } from '../../../../src/platform/db/wake.ts';
import { type BlobStore, newBlobKey } from '../../../../src/platform/storage/blob-store.ts';
import { createHomeStore } from '../../../../src/platform/storage/local-disk.ts';
import { clientMail, mailClients } from '../../../support/client-mail.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import {
  type AcceptedRow,
  arrivalDeps,
  insertAcceptedMail,
  internetIdOf,
  readMail,
  writeEmail,
} from '../../../support/inbox-mails.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { countWaiting } from '../../../support/waiting.ts';

let test: TestDatabase;
let waker: Waker;
let home: string;
let store: BlobStore;
let owner: QueuedAccount;
let inboxId: number;
let loops: InboundLoop[] = [];
let inboxes = 0;

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 10 });
  waker = createWaker({ url: test.url });
  home = await mkdtemp(join(tmpdir(), 'carillon-home-'));
  store = createHomeStore(home);
  owner = await insertAccount(test.database);
});
afterAll(async () => {
  await waker.close();
  await test.drop();
  await rm(home, { recursive: true, force: true });
});
beforeEach(async () => {
  inboxId = await insertInbox(test.database, owner, `support${(inboxes += 1)}@acme.test`);
  loops = [];
});

/** Holds readers until it is resolved, at the latest after the test. */
let reading: PromiseWithResolvers<void>;
beforeEach(() => void (reading = Promise.withResolvers()));
// A loop that outlives a failed test would take the mails of the next.
afterEach(async () => {
  reading.resolve();
  await stopAll();
});

const pool = () => test.database.pool;

/** Reads the header, and takes the rest for the text. */
async function read({ rawKey, envelopeFrom }: AcceptedMail): Promise<ReadMail> {
  const blob = await store.open(rawKey);
  if (!blob) throw new Error('the message is missing');
  const raw = await buffer(blob.stream);
  const header = readHeader(await parseHeader(raw), envelopeFrom);
  return readMail({
    internetId: header.internetId,
    referenceIds: header.referenceIds,
    from: header.from,
    senderKey: header.senderKey,
    subject: header.subject,
    text: raw.toString().split('\r\n\r\n').slice(1).join('\r\n\r\n'),
    autoSubmitted: header.autoSubmitted,
  });
}

/** Starts a loop like the mail role does. */
function start(changes: Partial<InboundLoopDeps> = {}): InboundLoop {
  const { keyring, plusAddresses, events, consumers } = arrivalDeps();
  const loop = startInboundLoop({
    keyring,
    plusAddresses,
    events,
    consumers,
    hasScanner: false,
    quotaBytes: 1024 ** 3,
    pool: pool(),
    waker,
    reader: { read },
    store,
    log: pino({ level: 'silent' }),
    ...changes,
  });
  loops.push(loop);
  return loop;
}

const stopAll = () => Promise.all(loops.map((loop) => loop.stop()));

const plainMail = (text: string) =>
  Buffer.from(
    `From: ada@example.com\r\nMessage-ID: <${randomBytes(8).toString('hex')}@example.com>\r\n\r\n${text}`,
  );

/** Stores a mail and its row, as the listener does. @returns the id of the row */
async function accept(raw: Buffer, changes: AcceptedRow = {}): Promise<number> {
  const raw_key = newBlobKey('inbox', owner.accountId);
  await store.put(raw_key, raw);
  return insertAcceptedMail(test.database, owner, inboxId, { raw_key, size: raw.length, ...changes });
}

interface MessageRow {
  id: number;
  conversation_id: number | null;
  text: string | null;
  subject: string | null;
  from_address: string;
  quarantine: { reason: string; detail: string } | null;
}

async function messages(): Promise<MessageRow[]> {
  const { rows } = await pool().query<MessageRow>(
    `select id, conversation_id, text, subject, from_address, quarantine from conversation_messages
     where inbox_id = $1 and direction = 'inbound' order by id`,
    [inboxId],
  );
  return rows;
}

const queuedMails = async () =>
  (
    await pool().query<{ id: number; attempts: number; waits: boolean }>(
      'select id, attempts, due_at > now() as waits from inbound_mails where inbox_id = $1 order by id',
      [inboxId],
    )
  ).rows;

const untilWritten = (count: number) =>
  eventually(async () => {
    const written = await messages();
    expect(written).toHaveLength(count);
    return written;
  });

describe('the loop', () => {
  it('reads what is waiting, and what arrives later when it is woken', async () => {
    await accept(plainMail('first'));
    start();
    await untilWritten(1);
    await accept(plainMail('second'));
    waker.wake('inbound');
    const written = await untilWritten(2);
    await stopAll();
    expect(written.map(({ text }) => text)).toEqual(['first', 'second']);
    expect(await queuedMails()).toEqual([]);
  });

  it('reads all mails once, whichever of several processes reads them', async () => {
    const texts = Array.from({ length: 130 }, (_, n) => `mail ${n}`);
    for (const text of texts) await accept(plainMail(text));
    start();
    start();
    const written = await untilWritten(texts.length);
    await stopAll();
    expect(written.map(({ text }) => text).toSorted()).toEqual(texts.toSorted());
    expect(await queuedMails()).toEqual([]);
  });

  it('retries a mail when its storage is back, and reads the others meanwhile', async () => {
    let isAway = true;
    const away = await accept(plainMail('away'));
    await accept(plainMail('here'));
    start({
      reader: {
        async read(mail) {
          const result = await read(mail);
          if (result.text === 'away' && isAway) throw new Error('EIO: i/o error');
          return result;
        },
      },
    });
    await untilWritten(1);
    await eventually(async () =>
      expect(await queuedMails()).toEqual([{ id: away, attempts: 0, waits: true }]),
    );
    isAway = false;
    await pool().query('update inbound_mails set due_at = now()');
    const written = await untilWritten(2);
    await stopAll();
    expect(written.map(({ text, quarantine }) => ({ text, quarantine }))).toEqual([
      { text: 'here', quarantine: null },
      { text: 'away', quarantine: null },
    ]);
  });

  it('writes the other mails of a group if one cannot be written', async () => {
    // PostgreSQL stores no NUL, and no reader returns one.
    const broken = await accept(plainMail('broken'));
    for (const text of ['one', 'two', 'three']) await accept(plainMail(text));
    start({
      reader: {
        async read(mail) {
          const result = await read(mail);
          return result.text === 'broken' ? { ...result, subject: '\0' } : result;
        },
      },
    });
    const written = await untilWritten(3);
    await eventually(async () =>
      expect(await queuedMails()).toEqual([{ id: broken, attempts: 1, waits: true }]),
    );
    await stopAll();
    expect(written.map(({ text }) => text).toSorted()).toEqual(['one', 'three', 'two']);
  });

  it.each(['57014', '40P01'])(
    'does not count as an attempt that the database canceled it: %s',
    async (code) => {
      await pool().query(`create or replace function cancel() returns trigger language plpgsql as
      $$ begin raise exception 'canceled' using errcode = '${code}'; end $$`);
      await pool().query(`create or replace trigger cancel before insert on conversation_messages
      for each row execute function cancel()`);
      const id = await accept(plainMail('canceled'));
      start();
      await eventually(async () => expect(await queuedMails()).toEqual([{ id, attempts: 0, waits: true }]));
      await stopAll();
      await pool().query('drop trigger cancel on conversation_messages');
    },
  );

  it('sums what an account stores without keeping other mail from its inboxes', async () => {
    await accept(plainMail('one'));
    await inTransaction(pool(), async (trx) => {
      await trx.query('lock table inbox_storage');
      start();
      await eventually(async () => expect(await countWaiting(pool(), "locktype = 'relation'")).toBe(1));
      const { rowCount } = await pool().query(
        `select from pg_locks join pg_stat_activity using (pid)
         where datname = current_database() and locktype = 'advisory' and granted`,
      );
      expect(rowCount).toBe(0);
    });
    expect(await untilWritten(1)).toHaveLength(1);
    await stopAll();
  });

  it('keeps the header of a mail that five processes did not survive', async () => {
    const raw = Buffer.from('From: Ada <ada@example.com>\r\nSubject: Deadly\r\n\r\nboom');
    await accept(raw, { attempts: 5 });
    start({ reader: { read: () => Promise.reject(new Error('must not be read')) } });
    const written = await untilWritten(1);
    await stopAll();
    expect(written).toEqual([
      expect.objectContaining({
        conversation_id: null,
        subject: 'Deadly',
        from_address: 'Ada <ada@example.com>',
        text: null,
        quarantine: expect.objectContaining({
          reason: 'unreadable',
          detail: 'the mail could not be read or stored 5 times',
        }),
      }),
    ]);
  });

  it('puts a mail whose message is lost into quarantine at once', async () => {
    await insertAcceptedMail(test.database, owner, inboxId, {
      raw_key: newBlobKey('inbox', owner.accountId),
      envelope_from: 'ada@example.com',
    });
    start();
    const written = await untilWritten(1);
    await stopAll();
    expect(written).toMatchObject([
      {
        from_address: 'ada@example.com',
        quarantine: { reason: 'unreadable', detail: 'the stored message is missing' },
      },
    ]);
  });

  it('reads small mails while a big one is read', async () => {
    const big = await accept(plainMail('big'), { size: 20_000_000 });
    await accept(plainMail('big too'), { size: 20_000_000 });
    await accept(plainMail('small'));
    start({
      reader: {
        async read(mail) {
          const result = await read(mail);
          if (mail.size > 1_000_000) await reading.promise;
          return result;
        },
      },
    });
    expect(await untilWritten(1)).toMatchObject([{ text: 'small' }]);
    expect((await queuedMails()).map(({ id }) => id)).toContain(big);
    reading.resolve();
    await untilWritten(3);
    await stopAll();
  });
});

describe('an account whose mails take long', () => {
  it('does not hold up the mails of others', async () => {
    const slow = Promise.withResolvers<void>();
    for (let n = 0; n < 120; n += 1) await accept(plainMail('slow'));
    let reading = 0;
    start({
      reader: {
        async read(mail) {
          const result = await read(mail);
          if (result.text !== 'slow') return result;
          reading += 1;
          await slow.promise;
          return result;
        },
      },
    });
    await eventually(() => expect(reading).toBeGreaterThan(1));
    // The process claims as many of them as it may.
    await eventually(async () => {
      const claimed = (await queuedMails()).filter(({ waits }) => waits);
      expect(claimed.length).toBeGreaterThanOrEqual(75);
    });
    const slowInbox = inboxId;
    const other = await insertAccount(test.database);
    inboxId = await insertInbox(test.database, other, `other${inboxes}@acme.test`);
    const raw_key = newBlobKey('inbox', other.accountId);
    await store.put(raw_key, plainMail('quick'));
    await insertAcceptedMail(test.database, other, inboxId, { raw_key });
    waker.wake('inbound');
    await untilWritten(1);
    slow.resolve();
    inboxId = slowInbox;
    await untilWritten(120);
    await stopAll();
  });

  it('is tried again only a few times if storing its attachments takes long', async () => {
    const id = await accept(plainMail('slow'));
    start({ reader: { read: () => Promise.reject(new SlowMailError('slow')) } });
    await eventually(async () => expect(await queuedMails()).toEqual([{ id, attempts: 1, waits: true }]));
    await stopAll();
    await pool().query('delete from inbound_mails');
  });
});

it('writes few mails with long texts at once, because each takes memory several times', async () => {
  const groups: number[] = [];
  for (let n = 0; n < 20; n += 1) await accept(plainMail(`${n} ${'x'.repeat(900_000)}`));
  const stream = {
    write(line: string) {
      const { arrived } = JSON.parse(line) as { arrived?: number };
      if (arrived !== undefined) groups.push(arrived);
    },
  };
  start({ log: pino({ level: 'debug' }, stream) });
  await untilWritten(20);
  await stopAll();
  expect(Math.max(...groups)).toBeLessThanOrEqual(4);
});

describe('a stop', () => {
  it('finishes what is being read, and gives back the rest', async () => {
    let begun = 0;
    for (let n = 0; n < 30; n += 1) await accept(plainMail(`mail ${n}`));
    const loop = start({
      reader: {
        async read(mail) {
          begun += 1;
          await reading.promise;
          return read(mail);
        },
      },
    });
    await eventually(() => expect(begun).toBeGreaterThan(0));
    const stopped = loop.stop();
    await eventually(async () =>
      expect((await queuedMails()).filter(({ waits }) => !waits)).toHaveLength(30 - begun),
    );
    reading.resolve();
    await stopped;
    expect(await messages()).toHaveLength(begun);
    const left = await queuedMails();
    expect(left).toHaveLength(30 - begun);
    expect(left.every(({ attempts, waits }) => attempts === 0 && !waits)).toBe(true);
    await pool().query('delete from inbound_mails');
  });
});

describe('answers from real programs', () => {
  it.each(mailClients)('%s: end in the conversation about the message', async (client) => {
    const message = await writeEmail(test.database, owner);
    const reference = internetIdOf(owner, message);
    const to = `support${inboxes}@acme.test`;
    const id = `${client}-1@client.example`;
    await accept(clientMail(client, { to, inReplyTo: reference, messageId: id }));
    start();
    await untilWritten(1);
    // The second answers the first, as a person does who forgot something. The third is a stranger's.
    const next = { to, inReplyTo: id, references: [reference, id], messageId: `${client}-2@client.example` };
    await accept(clientMail(client, next));
    await accept(
      clientMail(client, { ...next, from: 'Eve <eve@example.org>', messageId: `${client}-3@x.example` }),
    );
    waker.wake('inbound');
    const written = await untilWritten(3);
    await stopAll();
    const ofEve = written.find(({ from_address }) => from_address.startsWith('Eve'));
    const others = written.filter((mail) => mail !== ofEve).map(({ conversation_id }) => conversation_id);
    expect(new Set(others).size).toBe(1);
    expect(ofEve?.conversation_id).not.toBe(others[0]);
  });
});
