import type { ContentValues } from '../../delivery/content/templates/content.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import type { Brand } from '../brands/schema.ts';
import type { ContactValues } from '../contacts/service.ts';
import { preferenceUrl, unsubscribeLinks } from '../unsubscribe/service.ts';
import { brandValues } from './brand-parts.ts';
import { nested, sampleContact, type Samples } from './samples.ts';

/** The links of a content that is only shown: looking at a message must not unsubscribe its recipient. */
export const DEAD_LINKS = { unsubscribe_url: '#', preferences_url: '#' };

/** Returns the values for a sample: those of the caller, and the template's samples. Its links lead nowhere. */
export function sampleValues(
  brand: Brand,
  { samples, variables, contact }: { samples: Samples; variables: Samples; contact: ContactValues | null },
): ContentValues {
  const values = nested({ ...samples, ...variables });
  const { event } = values;
  return {
    contact: contact ?? sampleContact(values),
    event: typeof event === 'object' && event !== null ? (event as Record<string, unknown>) : null,
    brand: brandValues(brand),
    campaign: null,
    ...DEAD_LINKS,
    variables: values,
  };
}

/** What creating the links of a contact needs. */
export interface LinkDeps {
  keyring: Pick<Keyring, 'subkey' | 'accepted'>;
  /** The setting PUBLIC_URL; null: messages have no such links. */
  publicUrl: string | null;
}

/**
 * Returns the links with which a contact unsubscribes or chooses its lists; null if there is no contact with an email
 * address.
 */
export function linksOf(
  { keyring, publicUrl }: LinkDeps,
  { accountId, brandId }: { accountId: number; brandId: number },
  contact: ContactValues | null,
): Pick<ContentValues, 'unsubscribe_url' | 'preferences_url'> {
  const address = contact?.email ?? null;
  if (publicUrl === null || contact === null || address === null) {
    return { unsubscribe_url: null, preferences_url: null };
  }
  const source = { contactId: contact.id };
  return {
    unsubscribe_url:
      unsubscribeLinks(keyring, publicUrl, { accountId, brandId, source, address })?.url ?? null,
    preferences_url: preferenceUrl(keyring, publicUrl, { accountId, brandId, ...source, address }),
  };
}
