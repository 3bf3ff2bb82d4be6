import type pg from 'pg';
import { isOptOutHash, optOutHashes } from '../../delivery/ledger/consent/opt-outs.ts';
import { countStatsSql } from '../../delivery/ledger/effects/stat-changes.ts';
import { recipientKey } from '../../delivery/terms/channels/recipient.ts';
import type { RecipientFence } from '../../delivery/ledger/consent/recipient-fence.ts';
import type { RecipientPages } from '../../delivery/sender/compose/recipient-pages.ts';
import { recordUnappliedOptOut } from '../../delivery/ledger/consent/unapplied-opt-outs.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { setSubscription } from '../contacts/service.ts';
import type { PageBrand } from './page.ts';
import { preferenceUrl } from './preferences.ts';
import {
  type LinkPurpose,
  parseUnsubscribeToken,
  type UnsubscribeTarget,
  unsubscribeToken,
} from './tokens.ts';

export { preferenceUrl };

/** A recipient of a brand, and the message or contact for which the link is created. */
export interface UnsubscribeRecipient {
  accountId: number;
  brandId: number;
  source: UnsubscribeTarget['source'];
  /** The email address. */
  address: string;
}

/** The URLs by which the recipient of an email can unsubscribe. */
export interface UnsubscribeLinks {
  /** For the footer. It shows a page that asks for confirmation. */
  url: string;
  /** One-click unsubscribe (RFC 8058 §3.1). DKIM must sign both. */
  headers: { 'List-Unsubscribe': string; 'List-Unsubscribe-Post': string };
}

/**
 * Creates the unsubscribe links of an email.
 * @param publicUrl base URL of the API, without a trailing slash; mail clients require https
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

/**
 * Creates the links by which recipients of campaigns and flows unsubscribe.
 * @param publicUrl PUBLIC_URL; null: there are no pages, and so no links
 */
export function createRecipientPages(
  keyring: Pick<Keyring, 'subkey' | 'accepted'>,
  publicUrl: string | null,
): RecipientPages {
  return {
    unsubscribe: ({ accountId, brandId, messageId, to: address }) =>
      publicUrl === null
        ? null
        : unsubscribeLinks(keyring, publicUrl, { accountId, brandId, source: { messageId }, address }),
    preferences: ({ accountId, brandId, contactId, to: address }) =>
      publicUrl === null || contactId === null
        ? null
        : preferenceUrl(keyring, publicUrl, { accountId, brandId, contactId, address }),
  };
}

/** The recipient that a link belongs to. */
export interface Unsubscriber {
  target: UnsubscribeTarget;
  brand: PageBrand;
  /** Null if the message or the contact was removed, or the contact's address has changed. */
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

async function findAddress(
  db: Queryable,
  keyring: UnsubscribeDeps['keyring'],
  { brandId, source, addressHash }: UnsubscribeTarget,
): Promise<string | null> {
  const { rows } = await ('messageId' in source
    ? db.query<{ address: string | null }>(
        `select to_address as address from messages where id = $1 and brand_id = $2 and channel = 'email'`,
        [source.messageId, brandId],
      )
    : db.query<{ address: string | null }>(
        'select email as address from contacts where id = $1 and brand_id = $2',
        [source.contactId, brandId],
      ));
  const address = rows[0]?.address ?? null;
  if (address === null || 'messageId' in source) return address;
  return isOptOutHash(keyring, { brandId, channel: 'email', address }, addressHash) ? address : null;
}

/** Stores in a message that its recipient has unsubscribed by it, and counts that once. */
async function markUnsubscribed(trx: Queryable, brandId: number, messageId: number): Promise<void> {
  await trx.query(
    `with updated as (
       update messages m set unsubscribed_at = now(), updated_at = now()
       where m.id = $1 and m.brand_id = $2 and m.unsubscribed_at is null returning m.*
     )${countStatsSql('updated', { unsubscribed: 'true' })}
     select from updated`,
    [messageId, brandId],
  );
}

/** Unsubscribes recipients by the links of {@link unsubscribeLinks}. */
export function createUnsubscribe({ pool, keyring, fence, plusAddresses }: UnsubscribeDeps) {
  return {
    /** Verifies a link without I/O. @returns null if it is not genuine */
    verify: (token: string, purpose?: LinkPurpose): UnsubscribeTarget | null =>
      parseUnsubscribeToken(keyring, token, purpose),

    /** @returns null if the brand no longer exists */
    async find(target: UnsubscribeTarget): Promise<Unsubscriber | null> {
      const [brand, address] = await Promise.all([
        findBrand(pool, target),
        findAddress(pool, keyring, target),
      ]);
      return brand && { target, brand, address };
    },

    /**
     * Unsubscribes the recipient from the brand, and the contact with this address. Repeating it changes nothing. If
     * the address is no longer known, its HMAC in the link is recorded, and the worker searches for a contact that now
     * has the address. Afterwards, only batches that already had their intent can be sent.
     */
    async unsubscribe({ target, address }: Unsubscriber): Promise<void> {
      const { accountId, brandId, source, addressHash } = target;
      const messageId = 'messageId' in source ? source.messageId : null;
      const optOut = { accountId, brandId, channel: 'email', source: 'one_click', messageId } as const;
      await inTransaction(pool, async (trx) => {
        if (address === null) {
          await recordUnappliedOptOut(trx, addressHash, { ...optOut, plusAddresses });
        } else {
          const of = { key: recipientKey('email', address) ?? address };
          await setSubscription(trx, { keyring, plusAddresses }, { ...optOut, subscribed: false, of });
        }
        // Last, because senders that record outcomes of the message would wait for the consent lock, too.
        if (messageId !== null) await markUnsubscribed(trx, brandId, messageId);
      });
      await fence.wait(accountId);
    },
  };
}
