import type { RecipientPages } from '../../delivery/send/recipient-pages.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { preferenceUrl } from './preferences.ts';
import { unsubscribeLinks } from './service.ts';

/**
 * Makes the links by which the recipients of campaigns and flows unsubscribe.
 * @param publicUrl PUBLIC_URL without a trailing slash; null: there are no pages, and so no links
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
