/** The bytes of a copy of a letter. Its files are read twice: to sign the message, and to send it. */
import { createHash } from 'node:crypto';
import type { LetterFile } from '../../terms/letter.ts';
import type { DkimSigner } from '../dkim/sign.ts';
import { formatDateField, formatMessageIdField } from './header-fields.ts';
import { type Recipient, signWith } from './message.ts';
import { type TokenPlaces, writeTokens } from './tracked-body.ts';
import type { PreparedWhole } from './whole.ts';

/** Reads a file of a letter in pieces, as it stands in the message: in base64, in lines that end with CRLF. */
export type ReadFile = (file: LetterFile) => AsyncIterable<Uint8Array>;

const MAX_PIECE_BYTES = 64 * 1024;

function withTokens(text: Uint8Array, places: TokenPlaces, tokens: readonly string[]): Buffer {
  const filled = Buffer.from(text);
  writeTokens(filled, 0, places, tokens);
  return filled;
}

/**
 * Computes the value of `bh=`.
 * @param tokens one for each slot
 * @throws what `read` throws
 */
export async function hashWhole(
  { signed: { texts, places }, files }: PreparedWhole,
  tokens: readonly string[],
  read: ReadFile,
): Promise<string> {
  const digest = createHash('sha256');
  for (const [n, text] of texts.entries()) {
    digest.update(places && n === 0 ? withTokens(text, places, tokens) : text);
    const file = files[n];
    if (file) for await (const piece of read(file)) digest.update(piece);
  }
  return digest.digest('base64');
}

/**
 * Builds the signatures and the fields of a copy, and those that it shares.
 * @param signing the value of `bh=` with those who sign; null: the message is not signed
 * @throws InvalidMessageError if Message-ID or date is not valid in a header
 */
export async function buildWholeHead(
  { opening, smtpUtf8, signed }: PreparedWhole,
  { messageId, date }: Pick<Recipient, 'messageId' | 'date'>,
  signing: { signers: readonly DkimSigner[]; bodyHash: string } | null,
): Promise<Buffer> {
  const { headerNames, canonicalHeaders } = signed;
  const ownFields = [formatDateField(date), formatMessageIdField(messageId)];
  const recipientFields = [...signed.recipientFields, ...ownFields];
  const signatures = signing
    ? await signWith(signing.signers, {
        headerNames,
        canonicalHeaders,
        recipientFields,
        bodyHash: signing.bodyHash,
        signedAt: date,
      })
    : '';
  return Buffer.from(`${signatures}${opening}${ownFields.join('\r\n')}\r\n`, smtpUtf8 ? 'utf8' : 'latin1');
}

/**
 * The message in pieces of at most 64 KiB, the same each time.
 * @param head from {@link buildWholeHead}
 * @throws what `read` throws
 */
export async function* wholePieces(
  head: Buffer,
  { texts, files, tracked }: PreparedWhole,
  tokens: readonly string[],
  read: ReadFile,
): AsyncGenerator<Buffer> {
  for (const [n, text] of texts.entries()) {
    if (n > 0) yield* slices(text);
    else yield* slices(Buffer.concat([head, tracked ? withTokens(text, tracked.places, tokens) : text]));
    const file = files[n];
    if (file) for await (const piece of read(file)) yield* slices(piece);
  }
}

function* slices(bytes: Uint8Array): Generator<Buffer> {
  const { buffer, byteOffset, length } = bytes;
  for (let at = 0; at < length; at += MAX_PIECE_BYTES) {
    yield Buffer.from(buffer, byteOffset + at, Math.min(MAX_PIECE_BYTES, length - at));
  }
}
