/**
 * The thread that reads mails, one after another. Big contents never leave it: it opens the raw message itself and
 * stores the attachments. If a mail makes it hang or crash, `reader.ts` ends it.
 */
import { parentPort } from 'node:worker_threads';
import type { Email } from 'postal-mime';
import { createHomeStore } from '../../../platform/storage/local-disk.ts';
import type { BlobStore } from '../../../platform/storage/blob-store.ts';
import { storeAttachment } from './attachments.ts';
import { unauthenticated } from './authentication.ts';
import { bodyText, parseHeader, parseMail, type ParsedMail } from './contents.ts';
import { mailDigest } from './digest.ts';
import { readHeader } from './header.ts';
import { stages, type ReadBody, type ReadContents, type ReadJob, type ReadReply } from './jobs.ts';
import type { MailAttachment } from './mail.ts';

const stores = new Map<string, BlobStore>();

function storeOf(home: string): BlobStore {
  const known = stores.get(home);
  if (known) return known;
  const store = createHomeStore(home);
  stores.set(home, store);
  return store;
}

/** Reads a blob into memory of its own. */
async function load(store: BlobStore, key: string): Promise<ArrayBuffer> {
  const blob = await store.open(key);
  if (!blob) throw new Error('the raw message is missing');
  const raw = new ArrayBuffer(blob.size);
  const bytes = Buffer.from(raw);
  let at = 0;
  for await (const piece of blob.stream as AsyncIterable<Buffer>) at += piece.copy(bytes, at);
  if (at !== blob.size) throw new Error(`the raw message has ${at} bytes instead of ${blob.size}`);
  return raw;
}

async function readBody(store: BlobStore, accountId: number, email: Email): Promise<ReadBody> {
  const text = bodyText(email.text);
  const html = bodyText(email.html);
  const attachments: MailAttachment[] = [];
  for (const attachment of email.attachments)
    attachments.push(await storeAttachment(store, accountId, attachment));
  return { text: text.text, html: html.text, truncated: text.truncated || html.truncated, attachments };
}

async function parsePart(job: ReadJob, raw: ArrayBuffer): Promise<ParsedMail> {
  if (job.part === 'contents') return parseMail(raw);
  const bytes = Buffer.from(raw);
  return { fields: await parseHeader(bytes), email: null, unreadable: null, body: bytes };
}

async function read(job: ReadJob): Promise<ReadContents> {
  const store = storeOf(job.home);
  const raw = await load(store, job.rawKey);
  Atomics.store(job.stage, 0, stages.parsing);
  const { fields, email, unreadable, body } = await parsePart(job, raw);
  const header = readHeader(fields, job.envelopeFrom);
  const digest = mailDigest(fields, body);
  Atomics.store(job.stage, 0, stages.storing);
  return {
    header,
    body: email && (await readBody(store, job.accountId, email)),
    digest,
    authentication: unauthenticated(),
    unreadable,
  };
}

async function reply(job: ReadJob): Promise<void> {
  const answer: ReadReply = await read(job).catch((error: unknown) => ({ failed: (error as Error).message }));
  parentPort?.postMessage(answer);
}

parentPort?.on('message', (job: ReadJob) => void reply(job));
parentPort?.postMessage('ready');
