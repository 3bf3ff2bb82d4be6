import { parseEmailAddress } from '../../delivery/terms/addresses/email.ts';
import type { BrandSenders } from '../../delivery/terms/sender-identity.ts';
import type { NewMessage } from '../../delivery/ledger/accept/new-message.ts';

/** The sender that a template names. */
export interface TemplateSender {
  fromName: string | null;
  fromEmail: string | null;
}

/** Quotes a display name (RFC 5322 §3.2.4). */
function mailbox(name: string | null, address: string): string {
  if (name === null || name.trim() === '') return address;
  return `"${name.replaceAll(/["\\]/g, '\\$&')}" <${address}>`;
}

/**
 * Returns the sender of an email made from a template: the template's own, or the brand's default with the template's
 * name.
 * @returns null if the template's sender is not a verified sender of the brand
 */
export function senderOfTemplate(
  senders: BrandSenders,
  { fromName, fromEmail }: TemplateSender,
): Pick<NewMessage, 'from_address' | 'default_from' | 'domain_id' | 'provider_id'> | null {
  const given = fromEmail === null ? null : parseEmailAddress(fromEmail);
  const identity =
    given === null ? senders.defaultIdentity : 'error' in given ? null : senders.resolve(given);
  if (identity === null) return null;
  const hasSender = fromEmail !== null || (fromName ?? '').trim() !== '';
  return {
    from_address: hasSender ? mailbox(fromName, fromEmail ?? senders.defaultAddress) : null,
    default_from: senders.defaultAddress,
    ...(identity === 'sandbox' ? {} : { domain_id: identity.domainId, provider_id: identity.providerId }),
  };
}
