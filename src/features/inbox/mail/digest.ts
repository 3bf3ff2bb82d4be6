import { createHash } from 'node:crypto';
import type { ReadHeader } from './jobs.ts';
import { headerOf } from '../../../delivery/content/read/lines.ts';

/** What a mail says about itself. Servers on its way add and change other fields, such as Received. */
const NAMES = [
  'message-id',
  'from',
  'sender',
  'reply-to',
  'to',
  'cc',
  'date',
  'subject',
  'in-reply-to',
  'references',
  'auto-submitted',
  'precedence',
];
const CONTENT = 'content-';

interface Field {
  name: string;
  /** Unfolded. One character for each byte: decoding could make different bytes equal. */
  value: string;
}

function fieldsIn(header: Buffer): Field[] {
  return header
    .toString('latin1')
    .split(/\n(?![ \t])/)
    .map((line) => {
      const colon = line.indexOf(':');
      const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
      // Servers may fold a field in another place.
      const value = line.slice(colon + 1).replace(/[\r\n\t ]+/g, ' ');
      return { name, value: value.trim() };
    });
}

/** The fields that count, in an order that does not depend on that of their names. */
function counting(fields: readonly Field[]): Field[] {
  return fields
    .filter(({ name }) => NAMES.includes(name) || name.startsWith(CONTENT))
    .sort((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)));
}

/**
 * Hashes what two copies of a mail have in common that took different ways: what the mail says about itself, and its
 * body. Without a Message-ID, only the same bytes are the same mail, and only if a Received or Date field makes it
 * unlikely that they were sent twice on purpose.
 * @returns 32 bytes; null if no other mail can be the same. The mails of older versions have other hashes
 */
export function mailDigest(
  raw: Buffer,
  { internetId, autoSubmitted }: Pick<ReadHeader, 'internetId' | 'autoSubmitted'>,
): Buffer | null {
  const header = headerOf(raw);
  const fields = fieldsIn(header);
  const hash = createHash('sha256');
  if (internetId === null) {
    const isStamped = fields.some(({ name }) => name === 'received' || name === 'date');
    return isStamped ? hash.update(`bytes ${autoSubmitted}\n`).update(raw).digest() : null;
  }
  hash.update(`fields ${autoSubmitted} ${JSON.stringify(counting(fields))}\n`);
  return hash.update(raw.subarray(header.length)).digest();
}
