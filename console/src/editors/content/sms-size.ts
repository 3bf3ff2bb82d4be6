/** The size and the price of an SMS, in words. */
import type { Schemas } from '../../api/client.ts';
import { centsText, countText } from '../../ui/numbers.ts';

type SmsSize = Schemas['SmsSize'];

/** How many units fit into the only segment, and into each of several (3GPP TS 23.040). */
const ROOM = { gsm7: { single: 160, joined: 153 }, ucs2: { single: 70, joined: 67 } } as const;
const ENCODINGS = { gsm7: 'GSM-7', ucs2: 'UCS-2' } as const;

const segmentsText = (count: number) => `${countText(count)} segment${count === 1 ? '' : 's'}`;

/** Such as "161 characters in 2 segments of up to 153 (GSM-7)". */
export function sizeText({ encoding, units, segments }: SmsSize): string {
  const { single, joined } = ROOM[encoding];
  return segments === 1
    ? `${countText(units)} of ${single} characters, ${segmentsText(1)} (${ENCODINGS[encoding]})`
    : `${countText(units)} characters in ${segmentsText(segments)} of up to ${joined} (${ENCODINGS[encoding]})`;
}

/** @param isForContact whether the price is that of the country of a contact */
export function priceText({ segments, segment_price_cents: cents }: SmsSize, isForContact: boolean): string {
  if (cents === null) return 'Not sent: the account has no price for the country of this contact.';
  if (cents === 0) return 'Nothing';
  const price = `${centsText(segments * cents)} (${segmentsText(segments)} at ${centsText(cents)})`;
  return isForContact ? price : `At most ${price}, depending on the country`;
}

/** What the author should know about the size; null if nothing. */
export function sizeHint({ segments, reserved_segments: reserved, ...size }: SmsSize): string | null {
  const { wide_characters: wide } = size;
  if (wide.length > 0) {
    return `${wide.join(' ')} cannot be sent in GSM-7, so a segment has room for 70 characters instead of 160.`;
  }
  if (reserved <= segments) return null;
  return `Up to ${segmentsText(reserved)} are reserved for each recipient, because values may be longer. The filter truncate limits them.`;
}
