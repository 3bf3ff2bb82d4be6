import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_BYTES = 32;
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const shape = /^crl_(live|test|send)_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

/** `live` keys act as an admin of their brand; `test` keys reach no recipient; `send` keys can only send. */
export type KeyKind = 'live' | 'test' | 'send';

/** The stored form of a key. The key itself is never stored. */
export interface KeyDigest {
  kind: KeyKind;
  /** SHA-256 of the whole key. */
  digest: Buffer;
}

function base62(value: bigint, length: number): string {
  let rest = value;
  let text = '';
  for (let index = 0; index < length; index += 1) {
    text = DIGITS.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}

/** Detects mistyped and invented keys without a query, and helps secret scanners to find leaked keys. */
function checksum(prefix: string, secret: string): string {
  return base62(BigInt(crc32(`${prefix}${secret}`)), CHECKSUM_LENGTH);
}

function digestOf(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/**
 * Generates a key: `crl_live_`, `crl_test_` or `crl_send_`, 32 random bytes in base62, and a checksum.
 * @returns the key, which is shown once, and its stored form
 */
export function generateKey(kind: KeyKind): KeyDigest & { key: string; displayPrefix: string } {
  const prefix = `crl_${kind}_`;
  const secret = base62(BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`), SECRET_LENGTH);
  const key = `${prefix}${secret}${checksum(prefix, secret)}`;
  return { key, digest: digestOf(key), displayPrefix: key.slice(0, prefix.length + 4), kind };
}

/** @returns null if the text is not an API key: its shape or checksum is wrong */
export function parseKey(text: string): KeyDigest | null {
  const parts = shape.exec(text);
  if (!parts) return null;
  const [, kind, secret, sum] = parts;
  if (checksum(`crl_${kind}_`, secret as string) !== sum) return null;
  return { kind: kind as KeyKind, digest: digestOf(text) };
}
