import type pg from 'pg';
import { optOutHashes, recordHashedOptOut, recordOptOut } from '../../delivery/opt-outs.ts';
import type { RecipientFence } from '../../delivery/recipient-fence.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { PageBrand } from './page.ts';
import { parseUnsubscribeToken, type UnsubscribeTarget, unsubscribeToken } from './tokens.ts';

/** A recipient of a brand, and the message or contact that the link is made for. */
export interface UnsubscribeRecipient {
  accountId: number;
  brandId: number;
  source: UnsubscribeTarget['source'];
  /** The email address. */
  address: string;
}

/** What an email needs so that its recipient can unsubscribe. */
export interface UnsubscribeLinks {
  /** For the footer. It shows a page that asks. */
  url: string;
  /** One-click unsubscribe (RFC 8058 §3.1). DKIM must sign both. */
  headers: { 'List-Unsubscribe': string; 'List-Unsubscribe-Post': string };
}

/**
 * Makes the unsubscribe links of an email.
 * @param publicUrl base address of the API, without a trailing slash; mail clients require https
 * @returns null if the text is not an email address
 */
export function unsubscribeLinks(
  keyring: Pick<Keyring, 'subkey' | 'accepted'>,
  publicUrl: string,
  recipient: UnsubscribeRecipient,
): UnsubscribeLinks | null {
  const { accountId, brandId, source, address } = recipient;
  const [addressHash] = optOutHashes(keyring, { brandId, channel: 'email', address });
  if (!addressHash) return null;
  const url = `${publicUrl}/unsubscribe/${unsubscribeToken(keyring, { accountId, brandId, source, addressHash })}`;
  return {
    url,
    headers: { 'List-Unsubscribe': `<${url}>`, 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' },
  };
}

/** Who a link belongs to. */
export interface Unsubscriber {
  target: UnsubscribeTarget;
  brand: PageBrand;
  /** Null if the message was removed, or the link is of a contact. */
  address: string | null;
}

interface UnsubscribeDeps {
  pool: pg.Pool;
  keyring: Keyring;
  fence: RecipientFence;
  /** The setting SUPPRESS_PLUS_ADDRESSES. */
  plusAddresses: boolean;
}

async function findBrand(db: Queryable, target: UnsubscribeTarget): Promise<PageBrand | null> {
  const { rows } = await db.query<PageBrand>(
    'select company_name, brand_color, text_color, bg_color from brands where id = $1 and account_id = $2',
    [target.brandId, target.accountId],
  );
  return rows[0] ?? null;
}

async function findAddress(db: Queryable, { brandId, source }: UnsubscribeTarget): Promise<string | null> {
  if (!('messageId' in source)) return null;
  const { rows } = await db.query<{ to_address: string | null }>(
    `select to_address from messages where id = $1 and brand_id = $2 and channel = 'email'`,
    [source.messageId, brandId],
  );
  return rows[0]?.to_address ?? null;
}

/** Unsubscribes recipients by the links of {@link unsubscribeLinks}. */
export function createUnsubscribe({ pool, keyring, fence, plusAddresses }: UnsubscribeDeps) {
  return {
    /** Needs no I/O. @returns null if the link is not genuine */
    verify: (token: string): UnsubscribeTarget | null => parseUnsubscribeToken(keyring, token),

    /** @returns null if the brand no longer exists */
    async find(target: UnsubscribeTarget): Promise<Unsubscriber | null> {
      const [brand, address] = await Promise.all([findBrand(pool, target), findAddress(pool, target)]);
      return brand && { target, brand, address };
    },

    /**
     * Records that the recipient unsubscribed from the brand; a second time it changes nothing. If the address is no
     * longer known, its HMAC in the link is recorded. Afterwards, only batches that were already intended can leave.
     */
    async unsubscribe({ target, address }: Unsubscriber): Promise<void> {
      const { accountId, brandId, source, addressHash } = target;
      const messageId = 'messageId' in source ? source.messageId : null;
      const optOut = { accountId, brandId, channel: 'email', source: 'one_click', messageId } as const;
      if (address === null) await recordHashedOptOut(pool, [addressHash], optOut);
      else await recordOptOut(pool, keyring, { ...optOut, address, plusAddresses });
      await fence.wait(accountId);
    },
  };
}
