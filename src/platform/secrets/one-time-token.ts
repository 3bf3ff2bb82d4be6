import { hash, randomBytes } from 'node:crypto';

const TOKEN_BYTES = 32;
const shape = /^[A-Za-z0-9_-]{43}$/;

/** A token for one link. Only its digest is stored, so that nobody who reads the database can use it. */
export interface OneTimeToken {
  /** 32 random bytes in base64url. */
  token: string;
  /** SHA-256 of the token. */
  digest: Buffer;
}

export function createOneTimeToken(): OneTimeToken {
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  return { token, digest: hash('sha256', token, 'buffer') };
}

/** @returns the digest to look a token up by; null if the text cannot be a token */
export function digestOfToken(text: string): Buffer | null {
  return shape.test(text) ? hash('sha256', text, 'buffer') : null;
}
