/**
 * The keys of addresses in searches and filters: what is stored has one form (`key` of `parseEmailAddress`, E.164), and
 * people type many. Phone numbers are often written without their country code; such a text means the numbers of all
 * countries that are written so nationally, because nothing says which country is meant.
 */
import { type CountryCode, getCountries, getCountryCallingCode } from 'libphonenumber-js/min';
import { type AddressError, canonicalDomain, parseEmailAddress } from './email.ts';
import { readPhone } from './phone.ts';

/** ITU-T E.164: no calling code is the beginning of another. */
const callingCodes = [
  ...new Set(getCountries().map((country: CountryCode) => getCountryCallingCode(country))),
];

/** A pattern of some words, none of which begins with another: `1|2(?:0|7)`, which PostgreSQL reads faster than a list. */
function patternOf(words: readonly string[]): string {
  const byFirst = Map.groupBy(words, ([first]) => first);
  const parts = [...byFirst].map(([first = '', those]) => {
    const rests = those.map((word) => word.slice(1)).filter((rest) => rest !== '');
    return rests.length === 0 ? first : first + patternOf(rests);
  });
  return parts.every((part) => part.length === 1) ? `[${parts.join('')}]` : `(?:${parts.join('|')})`;
}
const CALLING_CODE = patternOf(callingCodes);

const MIN_NATIONAL_DIGITS = 5;
const MIN_DIGITS = 7;
const MAX_DIGITS = 15;
const NORTH_AMERICAN_DIGITS = 10;

/**
 * What people dial before the national number (ITU-T, "Dialling procedures"): `0` in most countries, `06` in Hungary,
 * `1` in North America, `8` in Russia, Kazakhstan and Lithuania, `80` in Belarus. In Italy the zero is a part of the
 * number.
 */
const trunkPrefixes = [/^0+/, /^06/, /^[18](?=[0-9]{10}$)/, /^8(?=[0-9]{8,9}$)/, /^80(?=[0-9]{9}$)/];

/**
 * Reads the digits of a number or of a part of one: with its `+` if the country code is included. `00` and, in North
 * America, `011` mean `+`; a zero in brackets is dialled only without the country code.
 * @returns null if the text has other characters than those of numbers
 */
function digitsOf(text: string): string | null {
  const plain = text
    .normalize('NFKC')
    .replace(/^\s*tel:/i, '')
    .replaceAll(/[\s\u200e\u200f\u202a-\u202e\u2060-\u2069]/g, '');
  const joined = plain.replaceAll(/[().\-/\u2010-\u2015\u2212]/g, '');
  if (!/^[+]?[0-9]*$/.test(joined)) return null;
  const withPlus = joined.replace(/^00/, '+').replace(/^011(?=[0-9]{11})/, '+');
  return withPlus.startsWith('+') ? withPlus.replace(/^[+]0*/, '+') : withPlus;
}

function withoutTrunkPrefix(digits: string): string[] {
  const shorter = trunkPrefixes.map((prefix) => digits.replace(prefix, ''));
  return [...new Set([digits, ...shorter])];
}

const isPossible = (digits: string, code: string): boolean => {
  if (code === '1') return digits.length === NORTH_AMERICAN_DIGITS;
  const length = code.length + digits.length;
  return length >= MIN_DIGITS && length <= MAX_DIGITS;
};

function keysOfNational(digits: string): string[] {
  const written = withoutTrunkPrefix(digits).flatMap((national) =>
    callingCodes.flatMap((code) => (isPossible(national, code) ? [`+${code}${national}`] : [])),
  );
  const others = [
    // The plus may be missing, as in `4930123456`.
    readPhone(`+${digits}`, null),
    // Mobile numbers of Argentina have a `15` within, and a `9` after the country code instead.
    ...(digits.includes('15') ? [readPhone(digits, 'AR')] : []),
  ];
  return [...new Set([...others.flatMap((phone) => ('error' in phone ? [] : phone.e164)), ...written])];
}

/**
 * Returns the stored forms of a phone number in a search or a filter, E.164.
 * @returns several if the text has no country code; what is wrong with it if it is no number
 */
export function phoneKeys(text: string): readonly string[] | AddressError {
  const digits = digitsOf(text);
  if (digits === null) return { error: 'is not a phone number' };
  if (digits.startsWith('+')) {
    // The parser drops a zero in brackets, but only where it is one that is dialled.
    const phone = readPhone(text.trim().startsWith('+') ? text : digits, null);
    const plain = 'error' in phone ? readPhone(digits, null) : phone;
    return 'error' in plain ? plain : [plain.e164];
  }
  if (digits.length < MIN_NATIONAL_DIGITS || digits.length > MAX_DIGITS + 2) {
    return { error: 'is not a phone number' };
  }
  return keysOfNational(digits);
}

/** Returns the stored forms of an email address in a search or a filter, or what is wrong with it. */
export function emailKeys(text: string): readonly string[] | AddressError {
  const email = parseEmailAddress(text);
  return 'error' in email ? email : [email.key];
}

/** Where a part of an address is looked for. */
export type PartPosition = 'contains' | 'starts' | 'ends';

function asciiDomain(part: string): string {
  return part
    .split('.')
    .map((label) => {
      // A label alone is no domain that the parser would take.
      const domain = label === '' ? '' : canonicalDomain(`${label}.test`);
      return typeof domain === 'string' ? domain.replace(/[.]test$/, '') : label;
    })
    .join('.');
}

/**
 * Returns the forms that a part of an email address may have in the key: lower case, and its domain in A-labels. Without
 * an `@`, a part may belong to either side.
 * @returns texts, one of which is in the key; none if the text has only spaces: without them, every key would contain it
 */
export function emailParts(text: string): readonly string[] {
  const part = text.trim().normalize('NFC').toLowerCase().normalize('NFC');
  if (part === '') return [];
  const at = part.lastIndexOf('@');
  if (at === -1) return [...new Set([part, asciiDomain(part)])];
  return [`${part.slice(0, at)}@${asciiDomain(part.slice(at + 1))}`];
}

/**
 * Returns a pattern of the stored numbers that have a part, as PostgreSQL and JavaScript understand it.
 * @returns null if no number has it
 */
export function phonePattern(text: string, position: PartPosition): string | null {
  const digits = digitsOf(text);
  if (digits === null || digits === '') return null;
  if (digits.startsWith('+')) return `^[+]${digits.slice(1)}${position === 'ends' ? '$' : ''}`;
  if (position === 'ends') return `${digits.replace(/^0+(?=[0-9])/, '0?')}$`;
  const national = `^[+]${CALLING_CODE}0?${digits.replace(/^0+(?=[0-9])/, '')}`;
  if (position === 'contains') return digits.startsWith('0') ? `${digits}|${national}` : digits;
  return digits.startsWith('0') ? national : `^[+]${digits}|${national}`;
}

const MIN_SEARCHED_DIGITS = 4;

/** Returns a pattern of the numbers that begin with a searched text; null if that has too few digits, or is no number. */
export const searchedPhones = (text: string): string | null =>
  text.replaceAll(/[^0-9]/g, '').length < MIN_SEARCHED_DIGITS ? null : phonePattern(text, 'starts');
