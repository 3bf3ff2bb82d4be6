const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';

/** Encodes bytes in lower-case base 32 (RFC 4648), without padding. */
export function base32(bytes: Buffer): string {
  let value = 0;
  let bits = 0;
  let text = '';
  for (const byte of bytes) {
    value = ((value << 8) | byte) & 0xffff;
    bits += 8;
    while (bits >= 5) {
      text += ALPHABET[(value >>> (bits - 5)) & 31];
      bits -= 5;
    }
  }
  return bits > 0 ? text + ALPHABET[(value << (5 - bits)) & 31] : text;
}
