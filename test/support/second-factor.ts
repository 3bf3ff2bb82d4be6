import { codeOf, STEP_SECONDS } from '../../src/features/second-factor/totp.ts';

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** Reads the secret as an authenticator app does. @param uri an `otpauth:` URI */
export function secretOfUri(uri: string): Buffer {
  const text = new URL(uri).searchParams.get('secret') ?? '';
  const bits = [...text].map((digit) => ALPHABET.indexOf(digit).toString(2).padStart(5, '0')).join('');
  return Buffer.from(Array.from(bits.match(/.{8}/g) ?? [], (byte) => parseInt(byte, 2)));
}

/** The code that an app shows, or showed some steps ago. @param steps -1: the former code; 1: the next one */
export function codeNow(secret: Buffer, steps = 0): string {
  return codeOf(secret, Math.floor(Date.now() / 1000 / STEP_SECONDS) + steps);
}
