/**
 * The thread that reads mails, one after another. Big contents never leave it: it opens the raw message itself and
 * stores the attachments. If a mail makes it hang or crash, the pool in `mail-jobs.ts` replaces it.
 */
import { parentPort } from 'node:worker_threads';
import type { BlobStore } from '../../../platform/storage/blob-store.ts';
import { createHomeStore } from '../../../platform/storage/local-disk.ts';
import { storeAttachment } from './attachments.ts';
import { authenticateMail, hasTooManySignatures, prepareSpf, unauthenticated } from './authenticate.ts';
import type { BodyTexts } from './body-texts.ts';
import { parseHeaderOnly, parseMail, signedBytes, type ParsedMail } from './contents.ts';
import { mailDigest } from './digest.ts';
import { readHeader } from './header.ts';
import {
  stages,
  type AuthenticationReply,
  type ReadBody,
  type ReadContents,
  type ReadJob,
  type ReadReply,
} from './jobs.ts';
import { KnownAnswers } from './known-answers.ts';
import type { MailAttachment } from './mail.ts';

/** The text of the generic test for unsolicited bulk email, which every filter knows. */
const GTUBE = 'XJS*C4JDBQADN1.NSBN3*2IDNEN*GTUBE-STANDARD-ANTI-UBE-TEST-EMAIL*C.34X';

const LARGE_BYTES = 256 * 1024;

const stores = new Map<string, BlobStore>();
const answers = new KnownAnswers();
const resolve = (name: string, type: string) => answers.resolve(name, type);

function storeOf(home: string): BlobStore {
  const known = stores.get(home);
  if (known) return known;
  const store = createHomeStore(home);
  stores.set(home, store);
  return store;
}

/** Memory for a large mail, used again for the next: freed memory is returned to the system late, or never. */
let largeMail: ArrayBuffer | null = null;

function memoryFor(size: number): Buffer<ArrayBuffer> {
  if (size < LARGE_BYTES) return Buffer.from(new ArrayBuffer(size));
  if (largeMail === null || largeMail.byteLength < size) largeMail = new ArrayBuffer(size);
  return Buffer.from(largeMail, 0, size);
}

/** Reads the raw message. */
async function load({ home, mail, stage }: ReadJob): Promise<Buffer<ArrayBuffer>> {
  const blob = await storeOf(home).open(mail.rawKey);
  if (!blob) throw new Error('the raw message is missing');
  const bytes = memoryFor(blob.size);
  let at = 0;
  for await (const piece of blob.stream as AsyncIterable<Buffer>) at += piece.copy(bytes, at);
  if (at !== blob.size) throw new Error(`the raw message has ${at} bytes instead of ${blob.size}`);
  Atomics.store(stage, 0, stages.parsing);
  return bytes;
}

/** Frees memory at once. The garbage collector would let many large buffers pile up first. */
function free(memory: ArrayBufferLike): void {
  if (memory instanceof ArrayBuffer && memory.byteLength >= LARGE_BYTES) memory.transfer(0);
}

async function storeBody({ home, mail }: ReadJob, parsed: ParsedMail, body: BodyTexts): Promise<ReadBody> {
  const attachments: MailAttachment[] = [];
  for (const file of body.files) {
    const bytes = parsed.contentOf(file);
    attachments.push(await storeAttachment(storeOf(home), mail.accountId, file, bytes));
    if (parsed.isOwn(bytes)) free(bytes.buffer);
  }
  const { text, html, truncated } = body;
  return { text, html, truncated, attachments };
}

async function parsePart(part: ReadJob['part'], bytes: Buffer<ArrayBuffer>): Promise<ParsedMail> {
  return part === 'contents' ? parseMail(bytes) : parseHeaderOnly(bytes);
}

function spamIn({ fields }: ParsedMail, bytes: Buffer): string | null {
  if (hasTooManySignatures(fields)) return 'more than 10 signatures';
  return bytes.includes(GTUBE) ? 'the test text for spam filters' : null;
}

async function read(job: ReadJob, bytes: Buffer<ArrayBuffer>): Promise<ReadContents> {
  const parsed = await parsePart(job.part, bytes);
  const header = readHeader(parsed.fields, job.mail.envelopeFrom);
  const spam = spamIn(parsed, bytes);
  const authenticates = parsed.body !== null && !hasTooManySignatures(parsed.fields);
  const authentication = authenticates
    ? await authenticateMail(parsed.signed, job.mail, header.senderKey, resolve)
    : unauthenticated();
  const digest = mailDigest(bytes, header);
  Atomics.store(job.stage, 0, stages.storing);
  const body = parsed.body && (await storeBody(job, parsed, parsed.body));
  return {
    header,
    body,
    digest,
    authentication,
    unknown: answers.unknown,
    unreadable: parsed.unreadable,
    spam,
  };
}

async function authenticateAgain({ mail, senderKey }: ReadJob, bytes: Buffer): Promise<AuthenticationReply> {
  const authentication = await authenticateMail(signedBytes(bytes), mail, senderKey, resolve);
  return { authentication, unknown: answers.unknown };
}

async function work(job: ReadJob): Promise<ReadContents | AuthenticationReply> {
  answers.begin(job.answers, job.last);
  if (job.part === 'spf') {
    Atomics.store(job.stage, 0, stages.parsing);
    await prepareSpf(job.mail, resolve);
    return { authentication: unauthenticated(), unknown: answers.unknown };
  }
  const bytes = await load(job);
  return job.part === 'authentication' ? authenticateAgain(job, bytes) : read(job, bytes);
}

async function reply(job: ReadJob): Promise<void> {
  const answer: ReadReply = await work(job).catch((error: unknown) => ({ failed: (error as Error).message }));
  parentPort?.postMessage(answer);
}

parentPort?.on('message', (job: ReadJob) => void reply(job));
parentPort?.postMessage('ready');
