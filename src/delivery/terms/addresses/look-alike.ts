/**
 * Addresses that look like others. Mail may have them as recipients, but who signs in with one could be taken for
 * someone else, or belong to the user of the other address.
 */
import { domainToUnicode } from 'node:url';
import { z } from 'zod';
import { bareEmail } from './bare-email.ts';
import { parseEmailAddress } from './email.ts';

/** Characters that leave no mark, such as zero-width joiners and variation selectors (Unicode, DerivedCoreProperties). */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}/u;
/** Scripts with letters that look like those of others in this list. */
const SCRIPTS = [
  ...[/\p{Script=Latin}/u, /\p{Script=Cyrillic}/u, /\p{Script=Greek}/u, /\p{Script=Armenian}/u],
  ...[/\p{Script=Cherokee}/u, /\p{Script=Coptic}/u, /\p{Script=Lisu}/u],
];

const codePoint = (character: string) =>
  `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;

/** Whether a character becomes an ASCII one when its letter case or its compatible form is taken, as U+212A becomes k. */
const becomesAscii = (character: string) =>
  character > '\x7f' &&
  (/[\x00-\x7f]/.test(character.normalize('NFKC') + character.toLowerCase()) ||
    // Not ß, whose upper case is SS.
    /^[\x00-\x7f]$/.test(character.toUpperCase()));

const mixesScripts = (part: string) => SCRIPTS.filter((script) => script.test(part)).length > 1;

/**
 * Finds out why an address may be taken for another one.
 * @param text an email address
 * @returns the reason as the end of a sentence; null if there is none
 */
export function lookAlikeProblem(text: string): string | null {
  const address = text.trim();
  const invisible = INVISIBLE.exec(address);
  if (invisible) return `must not contain the invisible character ${codePoint(invisible[0])}`;
  const other = [...address].find(becomesAscii);
  if (other !== undefined)
    return `must not contain ${codePoint(other)}, which looks like another letter or sign`;
  if (address !== address.normalize('NFC')) return 'must have composed letters (Unicode NFC)';
  const at = address.lastIndexOf('@');
  const [local, domain] = [address.slice(0, at), address.slice(at + 1).toLowerCase()];
  const parsed = parseEmailAddress(address);
  const shown = 'error' in parsed ? domain : domainToUnicode(parsed.domain);
  if (![local, ...shown.split('.')].some(mixesScripts)) {
    const isUsual = 'error' in parsed || [parsed.domain, shown].includes(domain);
    return isUsual ? null : `must have its domain in the usual form, which is ${shown}`;
  }
  return 'must not mix letters of several scripts that look alike';
}

/** The address of a user: an email address that cannot be taken for another one. */
export const userEmail = (maxLength: number) =>
  bareEmail(z.string().max(maxLength)).superRefine((given, context) => {
    const message = lookAlikeProblem(given);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });
