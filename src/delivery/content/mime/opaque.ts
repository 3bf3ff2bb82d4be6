/**
 * Builds letters whose body passes as a client wrote it, such as signed and encrypted mail: only the header is ours. The
 * body is a file, which is read when the message is signed and when it is sent.
 */
import { createHash, type Hash } from 'node:crypto';
import type { LetterFile } from '../../terms/letter.ts';
import { formatFurtherFields, signedHeaders } from './message.ts';
import { formatOpening, formatRecipients, ownNames, type PreparedWhole, type WholeContent } from './whole.ts';

/** The fields of a body, as the client wrote them, with the breaks of their lines. */
export type BodyFields = readonly (readonly [name: string, value: string])[];

/**
 * Builds what the copies of a letter share.
 * @throws InvalidMessageError if a header is malformed or reserved
 */
export function prepareOpaque(content: WholeContent, fields: BodyFields, body: LetterFile): PreparedWhole {
  const { from, letter } = content;
  const openingFields = formatOpening(content);
  const recipientFields = formatRecipients(letter);
  // MIME-Version has one value, which every message gets.
  const bodyFields = fields
    .filter(([name]) => name.toLowerCase() !== 'mime-version')
    .map(([name, value]) => `${name}:${value}`);
  const furtherFields = formatFurtherFields(content, bodyFields);
  const head = Buffer.from(`${furtherFields.join('\r\n')}\r\n\r\n`, 'latin1');
  return {
    smtpUtf8: [from, ...letter.replyTo, ...letter.to, ...letter.cc].some(({ smtpUtf8 }) => smtpUtf8),
    opening: [...openingFields, ...recipientFields].map((field) => `${field}\r\n`).join(''),
    texts: [head, new Uint8Array()],
    files: [body],
    size: head.length + body.size,
    signed: {
      ...signedHeaders([...openingFields, ...furtherFields], ownNames(recipientFields)),
      recipientFields,
      texts: [],
      places: null,
    },
    tracked: null,
  };
}

/** What must be known of a body before it is sent. */
export interface ScannedBody {
  /** The value of `bh=`. */
  bodyHash: string;
  eightBit: boolean;
}

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const MAX_ASCII = 0x7f;

/** Hashes a body in its relaxed form (RFC 6376 §3.4.4), piece by piece. Its lines end with CRLF. */
class RelaxedHash {
  readonly #hash: Hash = createHash('sha256');
  /** Line ends that count only if something follows. */
  #breaks = 0;
  #space = false;
  #isEmpty = true;
  eightBit = false;

  add(piece: Uint8Array): void {
    const relaxed = Buffer.allocUnsafe(2 * piece.length + 2 * this.#breaks + 2);
    let length = 0;
    for (const byte of piece) {
      if (byte === CR) continue;
      if (byte === LF) {
        this.#breaks += 1;
        this.#space = false;
      } else if (byte === SPACE || byte === TAB) this.#space = true;
      else {
        for (; this.#breaks > 0; this.#breaks -= 1) {
          relaxed[length++] = CR;
          relaxed[length++] = LF;
        }
        if (this.#space) relaxed[length++] = SPACE;
        this.#space = false;
        relaxed[length++] = byte;
        if (byte > MAX_ASCII) this.eightBit = true;
      }
    }
    if (length > 0) this.#isEmpty = false;
    this.#hash.update(relaxed.subarray(0, length));
  }

  end(): string {
    if (!this.#isEmpty) this.#hash.update('\r\n');
    return this.#hash.digest('base64');
  }
}

/** @throws what reading throws */
export async function scanBody(pieces: AsyncIterable<Uint8Array>): Promise<ScannedBody> {
  const hash = new RelaxedHash();
  for await (const piece of pieces) hash.add(piece);
  return { bodyHash: hash.end(), eightBit: hash.eightBit };
}
