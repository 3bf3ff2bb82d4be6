import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_BYTES = 32;
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const shape = /^crl_(live|test)_([0-9A-Za-z]{43})([0-9A-Za-z]{6})$/;

/** The stored form of a key. The key itself is never stored. */
export interface KeyDigest {
  test: boolean;
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
 * Generates a key: `crl_live_` or `crl_test_`, 32 random bytes in base62, and a checksum.
 * @returns the key, which is shown once, and its stored form
 */
export function generateKey(test: boolean): KeyDigest & { key: string; displayPrefix: string } {
  const prefix = test ? 'crl_test_' : 'crl_live_';
  const secret = base62(BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`), SECRET_LENGTH);
  const key = `${prefix}${secret}${checksum(prefix, secret)}`;
  return { key, digest: digestOf(key), displayPrefix: key.slice(0, prefix.length + 4), test };
}

/** @returns null if the text is not an API key: its shape or checksum is wrong */
export function parseKey(text: string): KeyDigest | null {
  const parts = shape.exec(text);
  if (!parts) return null;
  const [, kind, secret, sum] = parts;
  if (checksum(`crl_${kind}_`, secret as string) !== sum) return null;
  return { test: kind === 'test', digest: digestOf(text) };
}
