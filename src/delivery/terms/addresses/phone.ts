import { isSupportedCountry, parsePhoneNumberFromString } from 'libphonenumber-js/min';
import type { AddressError } from './email.ts';

export interface PhoneNumber {
  /** `+` and 7 to 15 digits (ITU-T E.164). */
  e164: string;
  /** ISO 3166-1 alpha-2; null if the number does not determine it. */
  country: string | null;
}

/**
 * Parses a phone number in E.164 form. Surrounding spaces are ignored; punctuation is not allowed.
 *
 * Country code and length must fit the numbering plan. Ranges within a plan are not checked, because operators open new
 * ones faster than any table can follow, and the provider reliably refuses a wrong number. The smallest metadata set is
 * therefore enough: lengths and countries are the same in all sets.
 * @returns the number, or the problem as the end of a sentence
 */
export function parsePhone(text: string): PhoneNumber | AddressError {
  const trimmed = text.trim();
  if (!/^\+[1-9]\d{6,14}$/.test(trimmed)) {
    return { error: 'must be a phone number in E.164 form, such as +14155550123' };
  }
  const parsed = parsePhoneNumberFromString(trimmed);
  if (!parsed?.isPossible()) return { error: 'is not a possible phone number' };
  if (parsed.number !== trimmed) return { error: `is not in E.164 form; did you mean ${parsed.number}` };
  return { e164: trimmed, country: parsed.country ?? null };
}

/** Ten digits of the North American plan, which has no other length and no prefix to drop. */
const NORTH_AMERICAN = /^\+1[2-9]\d{9}$/;

/**
 * Parses a phone number as {@link parsePhone} does, but without its country: distinguishing the countries of the North
 * American plan takes fifty times as long as the rest.
 */
export function parseE164(text: string): Pick<PhoneNumber, 'e164'> | AddressError {
  return NORTH_AMERICAN.test(text) ? { e164: text } : parsePhone(text);
}

/** Maximum length of a text that is parsed as a number: fifteen digits, however they are grouped. */
const MAX_TEXT_LENGTH = 40;

/**
 * Parses a phone number as people write it: `+1 (415) 555-0123`, or `(415) 555-0123` with a country.
 * @param country the region of numbers without a country code, ISO 3166-1 alpha-2; null: they are refused
 * @returns the number, or the problem as the end of a sentence
 */
export function readPhone(text: string, country: string | null): PhoneNumber | AddressError {
  const trimmed = text.trim();
  if (trimmed.length > MAX_TEXT_LENGTH) return { error: `is longer than ${MAX_TEXT_LENGTH} characters` };
  const region = country !== null && isSupportedCountry(country) ? country : null;
  if (!trimmed.startsWith('+') && region === null) {
    return { error: 'must begin with + and the country code, unless country_code is known' };
  }
  const parsed = parsePhoneNumberFromString(trimmed, {
    extract: false,
    ...(region === null ? {} : { defaultCountry: region }),
  });
  if (!parsed || parsed.ext !== undefined) return { error: 'is not a phone number' };
  return parsePhone(parsed.number);
}
