import { parsePhoneNumberFromString } from 'libphonenumber-js/min';
import type { AddressError } from './email.ts';

export interface PhoneNumber {
  /** `+` and 7 to 15 digits (ITU-T E.164). */
  e164: string;
  /** ISO 3166-1 alpha-2; null where the number alone does not tell. */
  country: string | null;
}

/**
 * Reads a number that is already in E.164 form; spaces around it are ignored, punctuation inside is not.
 * Country code and length must fit the numbering plan. Ranges within a plan are not checked: operators open
 * new ones faster than any table follows, and the provider's own refusal is exact. For the same reason the
 * smallest metadata set is enough: lengths and countries are the same in all of them.
 * @returns the number, or what is wrong with it as the end of a sentence
 */
export function parsePhone(text: string): PhoneNumber | AddressError {
  const trimmed = text.trim();
  if (!/^\+[1-9]\d{6,14}$/.test(trimmed)) {
    return { error: 'must be a phone number in E.164 form, such as +14155550123' };
  }
  const parsed = parsePhoneNumberFromString(trimmed);
  if (!parsed?.isPossible()) return { error: 'is not a phone number that exists' };
  if (parsed.number !== trimmed) return { error: `is not in E.164 form; did you mean ${parsed.number}` };
  return { e164: trimmed, country: parsed.country ?? null };
}
