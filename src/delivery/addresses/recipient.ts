import type { Channel } from '../message.ts';
import { parseEmailAddress } from './email.ts';
import { parsePhone } from './phone.ts';

/**
 * Returns the form of a recipient's address in which Carillon compares recipients: `to_key` of messages, `address_key`
 * of suppressions, and what opt-outs are hashed from.
 * @param address an email address, or a phone number in E.164 form; null: removed
 * @returns null if the text is no address of the channel
 */
export function recipientKey(channel: Channel, address: string | null): string | null {
  if (address === null) return null;
  if (channel === 'sms') {
    const phone = parsePhone(address);
    return 'error' in phone ? null : phone.e164;
  }
  const email = parseEmailAddress(address);
  return 'error' in email ? null : email.key;
}

/** `ada@x.org` for the key `ada+news@x.org`; any other key unchanged. The SQL function `address_without_tag` agrees. */
export function withoutTag(key: string): string {
  return key.replace(/^([^"+@]+)\+[^"@]*@/, '$1@');
}
