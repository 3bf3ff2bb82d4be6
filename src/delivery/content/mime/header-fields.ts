/**
 * Formats header fields as ASCII, folded (RFC 5322 §2.2) and safe from injection. A field is one string without its
 * last CRLF.
 */
import type { EmailAddress } from '../../terms/addresses/email.ts';
import { encodeWords, maxEncodedWordLength } from './encoded-words.ts';

/**
 * The message must not be sent: a header has a line break or a reserved name, or Message-ID or Date is invalid. The API
 * refuses such requests, so a message with this error has bypassed validation. Retrying does not help.
 */
export class InvalidMessageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'InvalidMessageError';
  }
}

const preferredLineLength = 78;
/** The limit of a line with an encoded word (RFC 2047 §2). */
const encodedLineLength = 76;
/** Keeps the line below the hard limit of 998 characters, whatever the header's name. */
const maxPlainTokenLength = 900;
const minWordSpace = 30;
const maxNameLength = 76;
const maxQuotedNameLength = 60;

const fieldName = /^[!-9;-~]+$/;
const atomPhrase = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?: [A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;
const notPrintableAscii = /[^\x20-\x7e]/;
const plainText = /^[!-~](?:[ -~]*[!-~])?$/;

/**
 * Removes NUL from a text for a header. Encoding replaces lone surrogates later.
 * @throws InvalidMessageError for CR or LF, which would start another header
 */
function headerText(name: string, text: string): string {
  if (/[\r\n]/.test(text)) throw new InvalidMessageError(`${name} contains a line break`);
  return text.replaceAll('\0', '');
}

/**
 * Folds tokens into lines of at most 78 characters, or 76 with an encoded word, unless a token is longer.
 * @param start the name with its colon; empty for a further line of a field
 */
function createFieldWriter(start: string) {
  let field = start;
  let column = start.length;
  let lineLength = preferredLineLength;
  let empty = true;

  function push(token: string, mayFoldAtOnce = start.length > 41): void {
    // Folding an empty line would end the header.
    const folds = column > 0 && column + 1 + token.length > lineLength && (!empty || mayFoldAtOnce);
    if (folds) lineLength = preferredLineLength;
    field += folds ? `\r\n ${token}` : ` ${token}`;
    column = (folds ? 0 : column) + 1 + token.length;
    empty = false;
  }

  return {
    push: (token: string): void => push(token),
    pushEncoded(text: string): void {
      const space = encodedLineLength - column - 1;
      for (const word of encodeWords(text, space < minWordSpace ? maxEncodedWordLength : space)) {
        lineLength = encodedLineLength;
        // A word exceeds the space if the text starts with a long character.
        push(word, true);
      }
      lineLength = encodedLineLength;
    },
    field: () => field,
  };
}

/**
 * Formats a field of free text, such as Subject or a header of the client. ASCII words at either end stay readable;
 * everything from the first to the last non-ASCII word is encoded. Leading and trailing spaces are dropped.
 * @throws InvalidMessageError for a malformed name or a line break in the value
 */
export function formatTextField(name: string, value: string): string {
  if (!fieldName.test(name) || name.length > maxNameLength) {
    throw new InvalidMessageError(`header name ${JSON.stringify(name)} is not valid`);
  }
  // Most fields need no folding, encoding or trimming.
  const fits = name.length + 2 + value.length <= preferredLineLength;
  if (fits && plainText.test(value) && !value.includes('=?')) return `${name}: ${value}`;
  const text = withoutOuterSpaces(headerText(`header ${name}`, value));
  const writer = createFieldWriter(`${name}:`);
  if (text === '') return `${name}: `;
  const words = splitAtSingleSpaces(text);
  const first = words.findIndex(needsEncoding);
  const last = words.findLastIndex(needsEncoding);
  words.forEach((word, index) => {
    if (first === -1 || index < first || index > last) writer.push(word);
    else if (index === first) writer.pushEncoded(words.slice(first, last + 1).join(' '));
  });
  return writer.field();
}

/** Not a regular expression: one for trailing spaces takes quadratic time for a run of spaces inside the text. */
function withoutOuterSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text[start] === ' ') start += 1;
  while (end > start && text[end - 1] === ' ') end -= 1;
  return text.slice(start, end);
}

/** Several spaces in a row stay inside a word: if the field were folded there, relays could drop some. */
function splitAtSingleSpaces(text: string): string[] {
  return text.split(/(?<! ) (?! )/);
}

function needsEncoding(word: string): boolean {
  return word.length > maxPlainTokenLength || word.includes('=?') || notPrintableAscii.test(word);
}

/**
 * Formats a field with one mailbox: From, To, Reply-To.
 * @throws InvalidMessageError for a line break in name or address
 */
export function formatAddressField(name: string, mailbox: EmailAddress): string {
  return formatMailbox(name, mailbox, { start: `${name}:`, end: '' });
}

/**
 * Formats a field with several mailboxes, each on a line of its own.
 * @param mailboxes at least one
 * @throws InvalidMessageError for a line break in a name or address
 */
export function formatAddressesField(name: string, mailboxes: readonly EmailAddress[]): string {
  const last = mailboxes.length - 1;
  const lines = mailboxes.map((mailbox, n) =>
    formatMailbox(name, mailbox, { start: n === 0 ? `${name}:` : '', end: n === last ? '' : ',' }),
  );
  return lines.join('\r\n');
}

/** @param around what is before the mailbox on its line, and what follows at once */
function formatMailbox(
  name: string,
  { name: displayName, address }: EmailAddress,
  { start, end }: { start: string; end: string },
): string {
  if (/[\x00-\x1f\x7f]/.test(address))
    throw new InvalidMessageError(`${name} address contains a control character`);
  if (displayName === null || displayName === '') return `${start} ${address}${end}`;
  const display = headerText(`${name} display name`, displayName);
  const writer = createFieldWriter(start);
  if (display.includes('=?') || notPrintableAscii.test(display)) writer.pushEncoded(display);
  else if (atomPhrase.test(display)) display.split(' ').forEach(writer.push);
  else if (display.length <= maxQuotedNameLength) writer.push(`"${display.replace(/["\\]/g, '\\$&')}"`);
  else writer.pushEncoded(display);
  writer.push(`<${address}>${end}`);
  return writer.field();
}

/** The last date: the messages of a campaign have the same. */
let lastDate = { time: NaN, field: '' };

/**
 * Formats the Date field in UTC (RFC 5322 §3.3).
 * @throws InvalidMessageError for an invalid date
 */
export function formatDateField(date: Date): string {
  const time = date.getTime();
  if (Number.isNaN(time)) throw new InvalidMessageError('the date is not valid');
  if (time !== lastDate.time) lastDate = { time, field: `Date: ${date.toUTCString().slice(0, -3)}+0000` };
  return lastDate.field;
}

/**
 * @param messageId without angle brackets
 * @throws InvalidMessageError for an invalid Message-ID
 */
export function formatMessageIdField(messageId: string): string {
  if (!/^[!-;=?-~]{1,900}$/.test(messageId)) throw new InvalidMessageError('the Message-ID is not valid');
  return `Message-ID: <${messageId}>`;
}
