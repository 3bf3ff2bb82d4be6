// The copies of a letter share Message-ID, header and files, keep their own envelope, and never go without their files.
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import {
  createDkimSigner,
  type DkimKey,
  generateDkimKey,
} from '../../../../src/delivery/content/dkim/sign.ts';
import { createPreparePool } from '../../../../src/delivery/content/mime/prepare-pool.ts';
import type { BatchMessage } from '../../../../src/delivery/ledger/intend/batch.ts';
import type { ProviderChannel } from '../../../../src/delivery/sender/compose/provider-channel.ts';
import { createEmailChannel } from '../../../../src/delivery/sender/email/hand-over.ts';
import type { LetterFile, LetterPart } from '../../../../src/delivery/terms/letter.ts';
import type { EmailProvider, OutgoingLetter } from '../../../../src/delivery/wire/adapters/port.ts';
import { createLinkTracker } from '../../../../src/features/tracking/links.ts';
import { createTrackingTokens } from '../../../../src/features/tracking/tokens.ts';
import { createKeyring } from '../../../../src/platform/secrets/keyring.ts';
import { type BlobStore, newBlobKey } from '../../../../src/platform/storage/blob-store.ts';
import { foldedStore } from '../../../../src/platform/storage/folded.ts';
import { createHomeStore } from '../../../../src/platform/storage/local-disk.ts';
import { emailSettings } from '../../../support/sending.ts';
import { collect } from '../../content/mime/letters.ts';
import { verify } from '../../content/mime/wire.ts';

const links = createLinkTracker(
  createTrackingTokens(createKeyring('a secret of the tests that is long enough')),
);
const tracking = { opens: true, clicks: true, host: 'https://links.test' };
const createdAt = new Date('2026-03-01T09:05:07Z');
const LETTER_ID = 70;

let home: string;
let store: BlobStore;
let key: DkimKey;
let photo: LetterFile;
let invoice: LetterFile;
/** What the provider got, in order. */
let given: OutgoingLetter[];
/** Ids of messages that the provider already has. */
let known: number[];
let channel: ProviderChannel;

/** Stores a file as a sender finds it. */
async function stored(
  filename: string,
  size: number,
  changes: Partial<LetterFile> = {},
): Promise<LetterFile> {
  const bytes = createHash('shake256', { outputLength: size }).update(filename).digest();
  const storageKey = newBlobKey('attachments', 1);
  const { sha256 } = await foldedStore(store).putStream(storageKey, piecesOf(bytes), { maxBytes: size });
  return {
    n: 1,
    filename,
    contentType: 'application/pdf',
    contentId: null,
    disposition: 'attachment',
    size,
    sha256,
    storageKey,
    ...changes,
  };
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes;
}

function copy(
  messageId: number,
  to: string,
  letter: Partial<LetterPart> = {},
  changes: Partial<BatchMessage> = {},
): BatchMessage {
  const recipients: LetterPart['recipients'] = [
    { kind: 'to', address: 'Ada <ada@example.com>' },
    { kind: 'cc', address: 'jo@example.org' },
  ];
  return {
    messageId,
    attempt: 1,
    epoch: 1,
    uncertain: false,
    verdict: 'send',
    accountId: 7,
    brandId: 2,
    hasContacts: false,
    domainId: null,
    channel: 'email',
    class: 1,
    providerId: 0,
    queuedAt: createdAt,
    createdAt,
    to,
    from: 'Shop <news@mail.test>',
    replyTo: null,
    subject: 'Your invoice',
    html: '<p><a href="https://shop.test/">Shop</a> <img src="cid:photo"></p>',
    text: null,
    headers: { 'In-Reply-To': '<1@example.com>' },
    tags: { order: '17' },
    tracking: null,
    idempotencyKey: null,
    segments: null,
    contentVersionId: 12,
    campaign: null,
    letter: { id: LETTER_ID, replyTo: null, recipients, files: [invoice, photo], ...letter },
    ...changes,
  };
}

const accepted = { kind: 'accepted', providerMessageId: null, response: 'ok', delivered: false } as const;

const bytesOf = ({ built }: OutgoingLetter) => collect(built.pieces());

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-letters-'));
  store = createHomeStore(home);
  key = await generateDkimKey({ domain: 'mail.test', selector: 'test', algorithm: 'rsa' });
  invoice = await stored('Größe.pdf', 1_600_000);
  photo = await stored('photo.png', 1_000, { n: 2, contentType: 'image/png', contentId: 'photo' });
  const provider: EmailProvider = {
    name: 'keeping',
    concurrency: 1,
    handOver(batch) {
      given.push(...(batch as OutgoingLetter[]));
      return Promise.resolve(batch.map(() => accepted));
    },
    findAccepted: ({ messageId }) => Promise.resolve(known.includes(messageId) ? accepted : null),
    close: () => Promise.resolve(),
  };
  const pool = createPreparePool();
  channel = createEmailChannel(
    provider,
    { ...emailSettings({ signers: [createDkimSigner(key)], links }), letterFiles: store },
    { threads: { ...pool, prepare: () => Promise.reject(new Error('the cache of contents was asked')) } },
  );
});
beforeEach(() => {
  given = [];
  known = [];
});
afterAll(async () => {
  await channel.close();
  await rm(home, { recursive: true, force: true });
});

describe('the copies of a letter', () => {
  const addresses = ['Ada <ada@example.com>', 'jo@example.org', 'secret@example.net'];
  const batch = () => addresses.map((to, n) => copy(LETTER_ID + n, to));

  it('have the same message and their own envelopes', async () => {
    expect(await channel.handOver(batch())).toEqual([accepted, accepted, accepted]);
    const [first, ...others] = await Promise.all(given.map(bytesOf));
    for (const other of others) expect(other.equals(first as Buffer)).toBe(true);
    expect(given.map(({ built }) => built.size)).toEqual(given.map(() => first?.length));
    expect(given.map(({ to }) => to)).toEqual(['ada@example.com', 'jo@example.org', 'secret@example.net']);
    expect(new Set(given.map(({ returnPath }) => returnPath)).size).toBe(3);
    expect(new Set(given.map(({ reference }) => reference)).size).toBe(3);
    expect(given.map(({ tags }) => tags)).toEqual(
      addresses.map((_to, n) => ({
        order: '17',
        account_id: '7',
        brand_id: '2',
        message_id: String(LETTER_ID + n),
      })),
    );
    const mail = await PostalMime.parse(first as Buffer);
    expect(mail.messageId).toBe(`<${given[0]?.reference}@mail.test>`);
    expect(mail.to).toEqual([{ name: 'Ada', address: 'ada@example.com' }]);
    expect(mail.cc).toEqual([{ name: '', address: 'jo@example.org' }]);
    expect((first as Buffer).includes('secret@example.net')).toBe(false);
    const files = mail.attachments.map(({ filename, content }) => [
      filename,
      createHash('sha256')
        .update(new Uint8Array(content as ArrayBuffer))
        .digest('hex'),
    ]);
    expect(files).toEqual([photo, invoice].map(({ filename, sha256 }) => [filename, sha256]));
    expect((await verify(first as Buffer, [key])).map(({ status }) => status.result)).toEqual(['pass']);
  });

  it('differ only in their tokens if they are tracked', async () => {
    const tracked = {
      ...tracking,
      key: createTrackingTokens(createKeyring('a secret of the tests that is long enough')).keyId,
    };
    await channel.handOver(
      addresses.map((to, n) => copy(LETTER_ID + n, to, { files: [photo] }, { tracking: tracked })),
    );
    const mails = await Promise.all(given.map(bytesOf));
    const texts = mails.map((mail) => mail.toString('latin1'));
    expect(new Set(texts).size).toBe(3);
    const linksOf = async (mail: Buffer) =>
      (await PostalMime.parse(mail)).html?.match(/https:\/\/links\.test\/c\/[\w-]+/)?.[0];
    expect(new Set(await Promise.all(mails.map(linksOf))).size).toBe(3);
    expect(new Set(texts.map((text) => /Message-ID: .*/.exec(text)?.[0])).size).toBe(1);
    expect(new Set(texts.map((text) => /boundary=.*/.exec(text)?.[0])).size).toBe(1);
    for (const mail of mails) {
      expect((await verify(mail, [key])).map(({ status }) => status.result)).toEqual(['pass']);
    }
    const contents = await Promise.all(
      given.map(async (letter, n) => [
        letter.content.html?.trim(),
        (await PostalMime.parse(mails[n] as Buffer)).html?.trim(),
      ]),
    );
    for (const [html, sent] of contents) expect(html).toBe(sent);
  });

  it('do not show a recipient whose address was erased', async () => {
    const recipients: LetterPart['recipients'] = [{ kind: 'cc', address: 'jo@example.org' }];
    await channel.handOver([copy(71, 'jo@example.org', { recipients })]);
    const { head } = {
      head: (await bytesOf(given[0] as OutgoingLetter)).toString('latin1').split('\r\n\r\n')[0],
    };
    expect(head).not.toMatch(/^To:/m);
    expect(head).not.toContain('ada@');
  });

  it('have their fields for providers that take no complete message', async () => {
    await channel.handOver([
      copy(70, addresses[0] as string, { replyTo: ['help@shop.test', 'Jo <jo@shop.test>'] }),
    ]);
    const { letter, content } = given[0] as OutgoingLetter;
    expect(letter.to.map(({ address }) => address)).toEqual(['ada@example.com']);
    expect(letter.cc.map(({ address }) => address)).toEqual(['jo@example.org']);
    expect(letter.replyTo.map(({ address }) => address)).toEqual(['help@shop.test', 'jo@shop.test']);
    expect(content.headers).toEqual({ 'In-Reply-To': '<1@example.com>' });
    for (const file of letter.files) {
      const bytes = Buffer.from((await file.base64()).toString('latin1'), 'base64');
      expect([file.size, createHash('sha256').update(bytes).digest('hex')]).toEqual([
        bytes.length,
        letter.files.indexOf(file) === 0 ? invoice.sha256 : photo.sha256,
      ]);
    }
  });

  it('are prepared in a thread if they are heavy, with the same bytes', async () => {
    const html = `<p>${'Größe '.repeat(30_000)}<img src="cid:photo"></p>`;
    await channel.handOver([
      copy(70, addresses[0] as string, {}, { html }),
      copy(71, addresses[1] as string, {}, { html }),
    ]);
    const [first, second] = await Promise.all(given.map(bytesOf));
    expect(second?.equals(first as Buffer)).toBe(true);
    expect((await verify(first as Buffer, [key])).map(({ status }) => status.result)).toEqual(['pass']);
  });

  it('are not handed over again if a look-up finds them', async () => {
    known = [71];
    const messages = batch().map((message) => ({ ...message, uncertain: true }));
    expect(await channel.handOver(messages)).toEqual([accepted, accepted, accepted]);
    expect(given.map(({ messageId }) => messageId)).toEqual([70, 72]);
  });

  it('go beside other emails', async () => {
    const plain: BatchMessage = { ...copy(90, 'ada@example.com'), html: null, text: 'x' };
    delete plain.letter;
    expect(await channel.handOver([copy(70, addresses[0] as string), plain])).toEqual([accepted, accepted]);
    expect(given.map(({ messageId }) => messageId)).toEqual([70, 90]);
  });
});

describe('a letter whose file cannot be read', () => {
  const failed = async (changes: Partial<LetterFile>) => {
    const broken = { ...invoice, ...changes };
    const outcomes = await channel.handOver([
      copy(70, 'ada@example.com', { files: [broken] }),
      copy(80, 'jo@example.org', { id: 80 }),
    ]);
    expect(given.map(({ messageId }) => messageId)).toEqual([80]);
    return outcomes[0];
  };

  const missing = `attachments/1/${'0'.repeat(32)}`;
  it.each<[string, Partial<LetterFile>]>([
    ['cannot be read: it is missing in the storage', { storageKey: missing }],
    ['cannot be read: the storage failed', { storageKey: 'not a key' }],
    ['cannot be read: it has 2189478 bytes in the storage instead of 2175790', { size: 1_590_000 }],
  ])('is tried again later if it %s', async (words, changes) => {
    const response = `file 1 of the message ${words}`;
    expect(await failed(changes)).toEqual({ kind: 'not_composed', final: false, response });
  });

  it('fails if the file has been removed', async () => {
    const response = 'file 1 of the message has been removed';
    expect(await failed({ storageKey: null })).toEqual({ kind: 'not_composed', final: true, response });
  });

  it('is sent as it was when it was composed if the file is small', async () => {
    const file = await stored('small', 20_000);
    await channel.handOver([copy(70, 'ada@example.com', { files: [file] })]);
    await store.remove(file.storageKey as string);
    const { attachments } = await PostalMime.parse(await bytesOf(given[0] as OutgoingLetter));
    expect(attachments.map(({ filename }) => filename)).toEqual(['small']);
  });

  it('has no complete message if the file goes while it is sent', async () => {
    const file = await stored('short-lived', 1_600_000);
    await channel.handOver([copy(70, 'ada@example.com', { files: [file] })]);
    await store.remove(file.storageKey as string);
    await expect(bytesOf(given[0] as OutgoingLetter)).rejects.toThrow('file 1 of the message cannot be read');
  });

  it('waits for a sender that has the storage', async () => {
    const without = createEmailChannel(
      {
        name: 'none',
        concurrency: 1,
        handOver: () => Promise.reject(new Error('called')),
        close: () => Promise.resolve(),
      },
      emailSettings(),
    );
    expect(await without.handOver([copy(70, 'ada@example.com')])).toEqual([
      {
        kind: 'not_composed',
        final: false,
        response: 'file 1 of the message cannot be read: this sender has no storage of files',
      },
    ]);
    await without.close();
  });
});
