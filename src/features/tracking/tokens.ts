/**
 * The tokens in the links and pixels of tracked mail. A token contains everything that its response needs, including
 * the target, so that a redirect reads nothing from the database. Its length depends only on the URL, not on the ids.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { mac, macInHex } from '../../platform/secrets/mac.ts';
import {
  readSharedToken,
  RECIPIENT_LENGTH,
  recipientToken,
  SEPARATOR,
  type SharedRecipient,
  type SharedTarget,
  TARGET_OVERHEAD,
  targetToken,
} from './shared-tokens.ts';

/** What a token means. */
export interface TrackedTarget {
  accountId: number;
  messageId: number;
  /** Counted from 1; 0: the pixel. */
  link: number;
  /** Number of links in the message that have tokens. */
  links: number;
  /** The URL of the link; empty for the pixel. */
  url: string;
}

export interface TrackingTokens {
  /** The id of the key that new messages are pinned to. */
  readonly keyId: string;
  /** @returns null if the key is unknown, because its secret was removed */
  signer(keyId: string): ((target: TrackedTarget) => string) | null;
  /** Signs the two parts of shared tokens. @returns null if the key is unknown */
  sharedSigner(keyId: string): SharedSigner | null;
  /** @returns null unless the token was signed with one of the keys */
  verify(token: string): TrackedTarget | null;
}

export interface SharedSigner {
  recipient(recipient: SharedRecipient): string;
  target(target: SharedTarget): string;
}

const VERSION = 1;
const KEY_ID_BYTES = 4;
/** Message ids grow by 2^32 each week, so six bytes last for 1,200 years. */
const ID_BYTES = 6;
const LINK_BYTES = 2;
const HEAD_BYTES = 1 + KEY_ID_BYTES + 2 * ID_BYTES + 2 * LINK_BYTES;
const MAC_BYTES = 16;

/** Number of bytes in a token, not counting its URL. */
export const TOKEN_OVERHEAD = HEAD_BYTES + MAC_BYTES;
/** Maximum length of a tracked URL, in characters. */
export const MAX_URL_LENGTH = 1_500;
export const MAX_TOKEN_LENGTH =
  RECIPIENT_LENGTH + Math.ceil((Math.max(TOKEN_OVERHEAD, TARGET_OVERHEAD) + MAX_URL_LENGTH) * (4 / 3));

const TOKEN = /^[A-Za-z0-9_-]+$/;
const SHARED_TOKEN = /^([A-Za-z0-9_-]+)~([A-Za-z0-9_-]+)$/;
const HTTP = /^https?:\/\//i;

function encode(keyId: string, key: Buffer, target: TrackedTarget): string {
  const bytes = Buffer.allocUnsafe(TOKEN_OVERHEAD + target.url.length);
  let at = bytes.writeUInt8(VERSION, 0);
  at += bytes.write(keyId, at, 'hex');
  at = bytes.writeUIntBE(target.accountId, at, ID_BYTES);
  at = bytes.writeUIntBE(target.messageId, at, ID_BYTES);
  at = bytes.writeUIntBE(target.link, at, LINK_BYTES);
  at = bytes.writeUIntBE(target.links, at, LINK_BYTES);
  at += bytes.write(target.url, at, 'latin1');
  bytes.write(macInHex(key, bytes.subarray(0, at)), at, MAC_BYTES, 'hex');
  return bytes.toString('base64url');
}

function decode(content: Buffer): TrackedTarget {
  let at = 1 + KEY_ID_BYTES;
  const next = (bytes: number) => content.readUIntBE((at += bytes) - bytes, bytes);
  return {
    accountId: next(ID_BYTES),
    messageId: next(ID_BYTES),
    link: next(LINK_BYTES),
    links: next(LINK_BYTES),
    url: content.toString('latin1', at),
  };
}

/** Every target was signed by us. This check guards against a bug in the code that signs. */
function isPlausible({ link, links, url }: TrackedTarget): boolean {
  return link === 0 ? url === '' : link <= links && HTTP.test(url);
}

export function createTrackingTokens(keyring: Pick<Keyring, 'subkey' | 'accepted'>): TrackingTokens {
  const keys = new Map(keyring.accepted('tracking').map(({ id, key }) => [id, key]));
  return {
    keyId: keyring.subkey('tracking').id,
    signer(keyId) {
      const key = keys.get(keyId);
      return key ? (target) => encode(keyId, key, target) : null;
    },
    sharedSigner(keyId) {
      const key = keys.get(keyId);
      if (!key) return null;
      return {
        recipient: (recipient) => recipientToken(keyId, key, recipient),
        target: (target) => targetToken(key, target),
      };
    },
    verify(token) {
      if (token.length > MAX_TOKEN_LENGTH) return null;
      if (token.includes(SEPARATOR)) {
        const [, recipient, target] = SHARED_TOKEN.exec(token) ?? [];
        const shared = recipient && target ? readSharedToken(keys, recipient, target) : null;
        return shared && isPlausible(shared) ? shared : null;
      }
      if (!TOKEN.test(token)) return null;
      const bytes = Buffer.from(token, 'base64url');
      if (bytes.length < TOKEN_OVERHEAD || bytes[0] !== VERSION) return null;
      const key = keys.get(bytes.toString('hex', 1, 1 + KEY_ID_BYTES));
      const content = bytes.subarray(0, -MAC_BYTES);
      if (!key || !timingSafeEqual(mac(key, content, MAC_BYTES), bytes.subarray(-MAC_BYTES))) return null;
      const target = decode(content);
      return isPlausible(target) ? target : null;
    },
  };
}
