import { type Channel, channelFacts } from './index.ts';

/**
 * Returns the form of a recipient's address in which Carillon compares recipients: `to_key` of messages, `address_key`
 * of suppressions, and the input of the hashes of opt-outs.
 * @param address an email address, or a phone number in E.164 form; null: removed
 * @returns null if the text is not an address of the channel
 */
export function recipientKey(channel: Channel, address: string | null): string | null {
  return address === null ? null : channelFacts[channel].address.key(address);
}

/** `ada@x.org` for the key `ada+news@x.org`; any other key unchanged. The SQL function `address_without_tag` agrees. */
export function withoutTag(key: string): string {
  return key.replace(/^([^"+@]+)\+[^"@]*@/, '$1@');
}
