import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** The purposes of subkeys. Each purpose has its own key, which is useless for any other. */
export type KeyPurpose =
  | 'jwt'
  | 'at-rest'
  | 'tracking'
  | 'return-path'
  | 'reference'
  | 'unsubscribe'
  | 'uploads'
  | 'opt-out'
  | 'flow-webhooks'
  | 'flow-headers'
  | 'csrf'
  | 'mcp'
  | 'oauth-cookies';

/** A key of 32 bytes, derived from a secret. */
export interface Subkey {
  /** Eight hexadecimal digits that identify the secret without revealing it. */
  id: string;
  key: Buffer;
}

/** The place in the database where a sealed value is stored. The value cannot be opened in any other place. */
export interface SealedPlace {
  table: string;
  column: string;
  /** The row's id, or another value that never changes and identifies the row. */
  row: string | number;
  /** Null for values that belong to the service itself. */
  accountId: number | null;
}

export interface Keyring {
  /** Returns the key for signing and sealing. */
  subkey(purpose: KeyPurpose): Subkey;
  /** Returns the keys to accept when checking: the current one, then the former ones. */
  accepted(purpose: KeyPurpose): Subkey[];
  /** Encrypts a value with AES-256-GCM, bound to `place`. */
  seal(plain: string, place: SealedPlace): string;
  /**
   * Decrypts a sealed value.
   * @throws UnsealError if it was sealed for another place or with an unknown secret, or was changed
   */
  open(sealed: string, place: SealedPlace): string;
}

/** A sealed value cannot be opened. The message names the place, never a secret. */
export class UnsealError extends Error {}

const SALT = 'carillon';
const SEALED_VERSION = 's1';
const IV_BYTES = 12;
const TAG_BYTES = 16;

function derive(secret: string, info: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, SALT, info, bytes));
}

function boundTo(place: SealedPlace): Buffer {
  return Buffer.from(JSON.stringify([place.table, place.column, String(place.row), place.accountId]));
}

function encrypt(plain: string, { id, key }: Subkey, place: SealedPlace): string {
  const iv = randomBytes(IV_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(boundTo(place));
  const body = Buffer.concat([iv, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]);
  return `${SEALED_VERSION}.${id}.${body.toString('base64url')}`;
}

function decrypt(body: Buffer, key: Buffer, place: SealedPlace): string {
  const iv = body.subarray(0, IV_BYTES);
  const tag = body.subarray(-TAG_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(boundTo(place)).setAuthTag(tag);
  const middle = body.subarray(IV_BYTES, -TAG_BYTES);
  return Buffer.concat([decipher.update(middle), decipher.final()]).toString('utf8');
}

/** @returns the id of the secret that sealed a value, or an empty text if the value was never sealed */
export const sealedBy = (sealed: string): string => sealed.split('.')[1] ?? '';

/**
 * Derives one subkey per purpose from APP_SECRET, with HKDF-SHA256 (RFC 5869).
 * @param previous secrets that still open and verify values, but never seal or sign
 * @param optOutKeys the stored keys of opt-outs, see `stored-keys.ts`; by default they are derived like the others
 */
export function createKeyring(
  secret: string,
  previous: readonly string[] = [],
  optOutKeys?: readonly Subkey[],
): Keyring {
  const secrets = [secret, ...previous];
  const cache = new Map<KeyPurpose, Subkey[]>();
  if (optOutKeys) cache.set('opt-out', [...optOutKeys]);
  const accepted = (purpose: KeyPurpose): Subkey[] => {
    const keys =
      cache.get(purpose) ??
      secrets.map((each) => ({
        id: derive(each, 'key id', 4).toString('hex'),
        key: derive(each, `purpose ${purpose}`, 32),
      }));
    cache.set(purpose, keys);
    return keys;
  };
  const subkey = (purpose: KeyPurpose): Subkey => accepted(purpose)[0] as Subkey;
  return {
    subkey,
    accepted,
    seal: (plain, place) => encrypt(plain, subkey('at-rest'), place),
    open(sealed, place) {
      const [version, id, body] = sealed.split('.');
      const key = accepted('at-rest').find((candidate) => candidate.id === id)?.key;
      const where = `${place.table}.${place.column} of row ${place.row}`;
      if (version !== SEALED_VERSION || !key || !body) {
        throw new UnsealError(
          `${where} was sealed with another APP_SECRET: add that one to APP_SECRET_PREVIOUS`,
        );
      }
      try {
        return decrypt(Buffer.from(body, 'base64url'), key, place);
      } catch (error) {
        throw new UnsealError(
          `${where} cannot be opened because it was changed or moved: restore it from a backup, or set it again`,
          { cause: error },
        );
      }
    },
  };
}
