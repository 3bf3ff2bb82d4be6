/** What is kept of a mail that made its readers fail, or that cannot be stored. */
import type { Readable } from 'node:stream';
import type { BlobStore } from '../../../platform/storage/blob-store.ts';
import { unauthenticated } from '../mail/authenticate.ts';
import { parseHeader } from '../../../delivery/content/read/header-fields.ts';
import { readHeader } from '../mail/header.ts';
import type { ReadMail } from '../mail/mail.ts';
import type { ClaimedMail } from './accepted-mails.ts';

const MAX_HEADER_BYTES = 64 * 1024;

async function beginningOf(stream: Readable): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of stream as AsyncIterable<Buffer>) {
    pieces.push(piece);
    size += piece.length;
    if (size >= MAX_HEADER_BYTES) break;
  }
  return Buffer.concat(pieces).subarray(0, MAX_HEADER_BYTES);
}

/**
 * Reads the beginning of a mail's header, and nothing else.
 * @param why for the quarantine
 * @throws the error of the storage
 */
export async function readUnreadable(
  store: Pick<BlobStore, 'open'>,
  mail: ClaimedMail,
  why: string,
): Promise<ReadMail> {
  const blob = await store.open(mail.raw_key);
  const fields = blob ? await parseHeader(await beginningOf(blob.stream)).catch(() => []) : [];
  const header = readHeader(fields, mail.envelope_from);
  return {
    internetId: header.internetId,
    referenceIds: header.referenceIds,
    from: header.from || mail.envelope_from,
    senderKey: header.senderKey,
    to: header.to,
    cc: header.cc,
    replyTo: header.replyTo,
    date: header.date,
    subject: header.subject,
    text: null,
    html: null,
    truncated: false,
    autoSubmitted: header.autoSubmitted,
    attachments: [],
    authentication: unauthenticated(),
    digest: null,
    suspicion: { reason: 'unreadable', detail: blob ? why : 'the stored message is missing' },
  };
}
