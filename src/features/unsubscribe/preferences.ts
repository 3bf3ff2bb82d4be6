/** The page on which a contact leaves lists of a brand, or unsubscribes from all of its mail. */
import type pg from 'pg';
import { isOptOutHash, optOutHashes } from '../../delivery/ledger/consent/opt-outs.ts';
import type { RecipientFence } from '../../delivery/ledger/consent/recipient-fence.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { setSubscription } from '../contacts/service.ts';
import { leaveLists, type ListOfContact, visibleListsOf } from '../lists/service.ts';
import { type UnsubscribeTarget, unsubscribeToken } from './tokens.ts';

/** A contact of a brand, with its email address. */
export interface PreferenceContact {
  accountId: number;
  brandId: number;
  contactId: number;
  address: string;
}

/**
 * Creates the URL of a contact's preference page. It works until APP_SECRET and APP_SECRET_PREVIOUS have both changed.
 * If the contact's address has changed since, the page unsubscribes the former address and shows no lists.
 * @param publicUrl base URL of the API, without a trailing slash
 * @returns null if the text is not an email address
 */
export function preferenceUrl(
  keyring: Pick<Keyring, 'subkey' | 'accepted'>,
  publicUrl: string,
  { accountId, brandId, contactId, address }: PreferenceContact,
): string | null {
  const [addressHash] = optOutHashes(keyring, { brandId, channel: 'email', address });
  if (!addressHash) return null;
  const target = { accountId, brandId, source: { contactId }, addressHash };
  return `${publicUrl}/preferences/${unsubscribeToken(keyring, target, 'preferences')}`;
}

/** The request that the form of the page submits. */
export type PreferenceChange = { kind: 'unsubscribe' } | { kind: 'leave'; listIds: number[] };

/** At most as many lists as a page shows. */
export const MAX_SHOWN_LISTS = 200;

function numbersOf(fields: URLSearchParams, name: string): number[] {
  const numbers = fields.getAll(name).slice(0, MAX_SHOWN_LISTS).map(Number);
  return numbers.filter((id) => Number.isSafeInteger(id) && id > 0);
}

/**
 * Parses the form. Browsers do not send unchecked boxes, so the form also submits all lists that it shows. Lists that
 * the contact has joined since then are not affected.
 * @returns null if it asks for nothing, such as a POST of a mail service
 */
export function readPreferenceForm(body: Buffer | null): PreferenceChange | null {
  const fields = new URLSearchParams(body?.toString('utf8') ?? '');
  const action = fields.get('action');
  if (action === 'unsubscribe') return { kind: 'unsubscribe' };
  if (action !== 'save') return null;
  const kept = new Set(numbersOf(fields, 'list'));
  return { kind: 'leave', listIds: numbersOf(fields, 'shown').filter((id) => !kept.has(id)) };
}

/** The settings of a link's contact, as the page shows them. */
export interface Preferences {
  /** Null, with neither address nor lists: the contact was removed, or its address has changed. */
  contactId: number | null;
  address: string | null;
  subscribed: boolean;
  /** The visible lists of the contact, at most {@link MAX_SHOWN_LISTS}. */
  lists: ListOfContact[];
}

const UNKNOWN: Preferences = { contactId: null, address: null, subscribed: false, lists: [] };

interface PreferenceDeps {
  pool: pg.Pool;
  keyring: Pick<Keyring, 'subkey' | 'accepted'>;
  fence: RecipientFence;
  /** The setting SUPPRESS_PLUS_ADDRESSES. */
  plusAddresses: boolean;
}

/** Shows and changes the subscriptions of a link's contact. */
export function createPreferences(deps: PreferenceDeps) {
  const { pool, keyring, fence } = deps;
  return {
    async find(target: UnsubscribeTarget): Promise<Preferences> {
      const { brandId, source } = target;
      if (!('contactId' in source)) return UNKNOWN;
      const { contactId } = source;
      const [lists, { rows }] = await Promise.all([
        visibleListsOf(pool, brandId, contactId, MAX_SHOWN_LISTS),
        pool.query<{ email: string | null; email_subscribed: boolean }>(
          'select email, email_subscribed from contacts where id = $1 and brand_id = $2',
          [contactId, brandId],
        ),
      ]);
      const { email: address = null, email_subscribed: subscribed = false } = rows[0] ?? {};
      if (
        address === null ||
        !isOptOutHash(keyring, { brandId, channel: 'email', address }, target.addressHash)
      )
        return UNKNOWN;
      return { contactId, address, subscribed, lists };
    },

    async leave(contactId: number, listIds: readonly number[]): Promise<void> {
      await inTransaction(pool, (trx) => leaveLists(trx, contactId, listIds));
    },

    /** Afterwards, only batches that already had their intent can be sent. */
    async unsubscribe({ accountId, brandId }: UnsubscribeTarget, contactId: number): Promise<void> {
      const change = {
        accountId,
        brandId,
        channel: 'email',
        subscribed: false,
        source: 'one_click',
      } as const;
      await inTransaction(pool, (trx) => setSubscription(trx, deps, { ...change, of: { contactId } }));
      await fence.wait(accountId);
    },
  };
}
