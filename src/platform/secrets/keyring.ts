import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** What a subkey is for; a key made for one purpose is of no use for another. */
export type KeyPurpose =
  'jwt' | 'at-rest' | 'tracking' | 'return-path' | 'unsubscribe' | 'uploads' | 'opt-out';

/** 32 bytes derived from one APP_SECRET. */
export interface Subkey {
  /** Eight hexadecimal digits that name the secret it came from, not the secret itself. */
  id: string;
  key: Buffer;
}

/** Where a sealed value is kept; it opens nowhere else. */
export interface SealedPlace {
  table: string;
  column: string;
  /** The row's id, or another value that names the row for ever. */
  row: string | number;
  /** Null for what belongs to the service itself. */
  accountId: number | null;
}

export interface Keyring {
  /** The key to make new things with. */
  subkey(purpose: KeyPurpose): Subkey;
  /** The keys to accept: the current one, then that of APP_SECRET_PREVIOUS. */
  accepted(purpose: KeyPurpose): Subkey[];
  /** AES-256-GCM, bound to `place`. */
  seal(plain: string, place: SealedPlace): string;
  /** @throws UnsealError where it was sealed elsewhere, by an unknown secret, or was changed */
  open(sealed: string, place: SealedPlace): string;
}

/** A sealed value that does not open; its message names the place and no secret. */
export class UnsealError extends Error {}

const SALT = 'carillon';
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
  return `s1.${id}.${body.toString('base64url')}`;
}

function decrypt(body: Buffer, key: Buffer, place: SealedPlace): string {
  const iv = body.subarray(0, IV_BYTES);
  const tag = body.subarray(-TAG_BYTES);
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: TAG_BYTES });
  decipher.setAAD(boundTo(place)).setAuthTag(tag);
  const middle = body.subarray(IV_BYTES, -TAG_BYTES);
  return Buffer.concat([decipher.update(middle), decipher.final()]).toString('utf8');
}

/**
 * Subkeys by HKDF-SHA256 (RFC 5869) from APP_SECRET, one a purpose.
 * @param previous accepted for opening and checking, never for making
 */
export function createKeyring(secret: string, previous?: string): Keyring {
  const secrets = previous ? [secret, previous] : [secret];
  const cache = new Map<KeyPurpose, Subkey[]>();
  const accepted = (purpose: KeyPurpose): Subkey[] => {
    const made =
      cache.get(purpose) ??
      secrets.map((each) => ({
        id: derive(each, 'key id', 4).toString('hex'),
        key: derive(each, `purpose ${purpose}`, 32),
      }));
    cache.set(purpose, made);
    return made;
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
      if (version !== 's1' || !key || !body) {
        throw new UnsealError(
          `${where} was sealed with another APP_SECRET: give that one as APP_SECRET_PREVIOUS`,
        );
      }
      try {
        return decrypt(Buffer.from(body, 'base64url'), key, place);
      } catch (error) {
        throw new UnsealError(`${where} does not open: it was changed or moved`, { cause: error });
      }
    },
  };
}
