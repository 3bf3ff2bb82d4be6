/**
 * Email addresses as people type them: `a@b.c`, `"quoted local"@b.c`, `Name <a@b.c>`,
 * internationalized local parts and domains (RFC 5322 §3.4, RFC 5321 §4.5.3.1, RFC 6531, UTS 46).
 * Address literals, comments, routes and groups are refused although the RFCs allow them, because such mail would not
 * arrive.
 */
import { domainToASCII, domainToUnicode } from 'node:url';

export interface EmailAddress {
  /** Display name, unquoted; null if there is none. */
  readonly name: string | null;
  /** `local@domain`, as used for sending. */
  readonly address: string;
  /** Local part in its shortest form: quoted only if necessary, with its case preserved. */
  readonly local: string;
  /** In A-labels and lower case. */
  readonly domain: string;
  /** For comparison and uniqueness: the local part lower-cased, NFC, quotes normalized; `@`; the domain. */
  readonly key: string;
  /** Whether the local part is not ASCII, so that the message needs SMTPUTF8. */
  readonly smtpUtf8: boolean;
}

/** `error` completes a sentence whose subject is the field: "is not an email address". */
export interface AddressError {
  error: string;
}

/** The pattern of an address in the API's description. The parser decides. */
export const ADDRESS_PATTERN = '^[\\s\\S]*@[\\s\\S]*$';

const maxTextLength = 1_000;
const maxNameLength = 256;
const maxLocalOctets = 64;
const maxAddressOctets = 254;
const maxDomainOctets = 253;

const notAnAddress: AddressError = { error: 'is not an email address' };

/** Joiners are part of words in several scripts. Every other invisible character is a mistake or an attack. */
const visibleNonAscii = '(?:[\\u200c\\u200d]|(?![\\p{Z}\\p{Cc}\\p{Cf}\\p{Cs}\\p{Co}])[^\\x00-\\x7f])';
const atom = `(?:[A-Za-z0-9!#$%&'*+/=?^_\`{|}~-]|${visibleNonAscii})+`;
const dotAtom = new RegExp(`^${atom}(?:\\.${atom})*$`, 'u');
const quotable = new RegExp(`^(?:[\\x20-\\x7e]|${visibleNonAscii})+$`, 'u');
const quotedString = /"((?:[^"\\]|\\.)*)"/g;
const lineBreakOrControl = /[\p{Cc}\u2028\u2029]/u;
const domainLabel = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** The last address: a message needs that of its recipient several times in a row. */
let last: { text: string; parsed: EmailAddress | AddressError } | null = null;

/**
 * Parses one address, with or without a display name.
 * @param text surrounding spaces are ignored
 * @returns the address, or the problem
 */
export function parseEmailAddress(text: string): EmailAddress | AddressError {
  if (last?.text !== text) last = { text, parsed: parse(text) };
  return last.parsed;
}

function parse(text: string): EmailAddress | AddressError {
  if (text.length > maxTextLength) return { error: `is longer than ${maxTextLength} characters` };
  if (lineBreakOrControl.test(text) || !text.isWellFormed()) {
    return { error: 'must not contain line breaks or control characters' };
  }
  const mailbox = splitMailbox(text.trim());
  if ('error' in mailbox) return mailbox;
  if (mailbox.name !== null && mailbox.name.length > maxNameLength) {
    return { error: `has a display name longer than ${maxNameLength} characters` };
  }
  return parseAddrSpec(mailbox.name, mailbox.addrSpec);
}

/** Splits `Name <addr-spec>`, and refuses several addresses. */
function splitMailbox(text: string): { name: string | null; addrSpec: string } | AddressError {
  const marks = unquotedMarks(text);
  if (marks === null) return { error: 'has an unclosed quotation mark' };
  if (marks.separator) return { error: 'must be one address, not several' };
  if (marks.angles.length === 0) return { name: null, addrSpec: text };
  const [open, close] = marks.angles;
  if (marks.angles.length !== 2 || text[open ?? 0] !== '<' || close !== text.length - 1) return notAnAddress;
  const name = text
    .slice(0, open)
    .replace(quotedString, (_quoted, inner: string) => unescape(inner))
    .trim();
  return { name: name === '' ? null : name, addrSpec: text.slice((open ?? 0) + 1, close).trim() };
}

/**
 * Finds angle brackets outside quotes, and whether there is a `,` or `;` outside quotes.
 * @returns null if a quote is not closed
 */
function unquotedMarks(text: string): { angles: number[]; separator: boolean } | null {
  const angles: number[] = [];
  let separator = false;
  let quoted = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '"') quoted = !quoted;
    else if (quoted && character === '\\') index += 1;
    else if (quoted) continue;
    else if (character === '<' || character === '>') angles.push(index);
    else if (character === ',' || character === ';') separator = true;
  }
  return quoted ? null : { angles, separator };
}

function unescape(inner: string): string {
  return inner.replace(/\\(.)/gu, '$1');
}

function parseAddrSpec(name: string | null, addrSpec: string): EmailAddress | AddressError {
  const at = addrSpec.lastIndexOf('@');
  if (at === -1) return notAnAddress;
  const local = canonicalLocal(addrSpec.slice(0, at));
  if (local === null) return notAnAddress;
  if (Buffer.byteLength(local) > maxLocalOctets) {
    return { error: `has more than ${maxLocalOctets} octets before the @` };
  }
  const domain = canonicalDomain(addrSpec.slice(at + 1));
  if (typeof domain !== 'string') return domain;
  const address = `${local}@${domain}`;
  if (Buffer.byteLength(address) > maxAddressOctets) {
    return { error: `is longer than ${maxAddressOctets} octets` };
  }
  const key = `${local.normalize('NFC').toLowerCase().normalize('NFC')}@${domain}`;
  return { name, address, local, domain, key, smtpUtf8: !isAscii(local) };
}

/** Quotes only if necessary, so that `"john"@x.org` and `john@x.org` are the same. @returns null if malformed */
function canonicalLocal(local: string): string | null {
  if (dotAtom.test(local)) return local;
  const inner = /^"((?:[^"\\]|\\.)*)"$/u.exec(local)?.[1];
  if (inner === undefined) return null;
  const content = unescape(inner);
  if (dotAtom.test(content)) return content;
  return quotable.test(content) ? `"${content.replace(/["\\]/g, '\\$&')}"` : null;
}

/**
 * Parses a domain name, in U-labels or A-labels.
 * @returns the name in A-labels and lower case, or what is wrong with an address at this domain
 */
export function canonicalDomain(domain: string): string | AddressError {
  if (domain.startsWith('[')) return { error: 'must have a domain name after the @, not an IP address' };
  const ascii = toAsciiDomain(domain);
  const labels = ascii.split('.');
  if (!labels.every(isDomainLabel) || ascii.length > maxDomainOctets) {
    return { error: 'has an invalid domain' };
  }
  if (labels.length < 2) return { error: 'has a domain without a dot' };
  if (!/^[a-z]/.test(labels.at(-1) ?? '')) {
    return { error: 'must have a domain name after the @, not an IP address' };
  }
  return ascii;
}

/** Refuses an A-label that cannot be decoded, which `domainToASCII` accepts. */
function isDomainLabel(label: string): boolean {
  if (!domainLabel.test(label)) return false;
  return !label.startsWith('xn--') || !['', label].includes(domainToUnicode(label));
}

/** @returns an empty string if UTS 46 refuses the name; only letters, digits, dots and hyphens reach the parser */
function toAsciiDomain(domain: string): string {
  const lower = domain.toLowerCase();
  if (/[\x00-\x2c\x2f\x3a-\x60\x7b-\x7f]/.test(lower)) return '';
  return isAscii(lower) ? lower : domainToASCII(lower);
}

function isAscii(text: string): boolean {
  return !/[^\x00-\x7f]/.test(text);
}
