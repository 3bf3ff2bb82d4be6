import { createHash } from 'node:crypto';
import type { Header } from 'postal-mime';
import { valuesOf } from './header.ts';

const NAMES = ['message-id', 'from', 'date'];

/**
 * Hashes what is the same in two copies of a mail that took different ways: Message-ID, From, Date and body.
 * @param body the bytes after the header
 */
export function mailDigest(fields: readonly Header[], body: Uint8Array): Buffer {
  const hash = createHash('sha256');
  for (const name of NAMES) hash.update(`${JSON.stringify(valuesOf(fields, name))}\n`);
  return hash.update(body).digest();
}
