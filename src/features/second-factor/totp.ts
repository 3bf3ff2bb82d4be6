/** Time-based one-time passwords (RFC 6238) in the form that every authenticator app knows: SHA-1, six digits, 30 s. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { base32 } from '../../platform/secrets/base32.ts';

export const STEP_SECONDS = 30;
/** RFC 4226, section 4: the length of the hash. */
const SECRET_BYTES = 20;
const DIGITS = 6;
/** How many steps the user's clock may be wrong. */
const TOLERATED_STEPS = 1;
const ISSUER = 'Carillon';

export const CODE = /^\d{6}$/;

export const generateSecret = (): Buffer => randomBytes(SECRET_BYTES);

/** The form in which people type a secret into an app. */
export const secretText = (secret: Buffer): string => base32(secret).toUpperCase();

/** The `otpauth:` URI that an app reads from a QR code. */
export function secretUri(secret: Buffer, email: string): string {
  const label = encodeURIComponent(`${ISSUER}:${email}`);
  return `otpauth://totp/${label}?secret=${secretText(secret)}&issuer=${ISSUER}`;
}

/** @returns the code of a time step (RFC 4226, section 5.3) */
export function codeOf(secret: Buffer, step: number): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const digest = createHmac('sha1', secret).update(counter).digest();
  const offset = (digest.at(-1) as number) & 0xf;
  const number = digest.readUInt32BE(offset) & 0x7fff_ffff;
  return String(number % 10 ** DIGITS).padStart(DIGITS, '0');
}

/**
 * Finds the time step that a code belongs to.
 * @param lastStep the newest step whose code was used: codes of it and of older ones do not count
 * @returns null if the code is wrong
 */
export function stepOf(
  secret: Buffer,
  code: string,
  { seconds, lastStep }: { seconds: number; lastStep: number },
): number | null {
  const current = Math.floor(seconds / STEP_SECONDS);
  for (let step = current - TOLERATED_STEPS; step <= current + TOLERATED_STEPS; step += 1) {
    const matches = timingSafeEqual(Buffer.from(codeOf(secret, step)), Buffer.from(code));
    if (matches && step > lastStep) return step;
  }
  return null;
}
