/** Checks the bytes of a message independently of the builder's code. */
import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import PostalMime, { type Email } from 'postal-mime';
import { parseEmailAddress, type EmailAddress } from '../../../../src/delivery/terms/addresses/email.ts';
import { dkimRecord, type DkimKey } from '../../../../src/delivery/content/dkim/sign.ts';
import {
  buildMessage,
  prepareContent,
  type BuiltMessage,
  type EmailContent,
  type Recipient,
} from '../../../../src/delivery/content/mime/message.ts';

export const date = new Date('2026-03-01T09:05:07.891Z');

export function address(text: string): EmailAddress {
  const parsed = parseEmailAddress(text);
  if ('error' in parsed) throw new Error(`${JSON.stringify(text)} ${parsed.error}`);
  return parsed;
}

export function email(changes: Partial<EmailContent> = {}): EmailContent {
  return {
    subject: 'Hello',
    html: null,
    text: 'Hello',
    from: address('Sender <sender@example.com>'),
    replyTo: null,
    headers: {},
    ...changes,
  };
}

export const recipient: Recipient = {
  to: address('reader@example.org'),
  messageId: '42.7@mail.example.com',
  date,
};

/** Builds a message without signatures. */
export function build(content: EmailContent, to: Partial<Recipient> = {}): BuiltMessage {
  const built = buildMessage(prepareContent(content), { ...recipient, ...to }, []);
  if (built instanceof Promise) throw new Error('a message without signers is built at once');
  return built;
}

export function parse(built: BuiltMessage): Promise<Email> {
  return PostalMime.parse(built.data);
}

/** Splits a message into its folded header block and its body. */
export function split(built: BuiltMessage): { head: string; body: string } {
  const text = built.data.toString(built.smtpUtf8 ? 'utf8' : 'latin1');
  const end = text.indexOf('\r\n\r\n');
  return { head: text.slice(0, end + 2), body: text.slice(end + 4) };
}

/** Verifies the signatures of a message against the DNS records of its keys. */
export async function verify(data: Buffer, keys: DkimKey[]) {
  const records = new Map(keys.map((key) => [dkimRecord(key).name, dkimRecord(key).value]));
  const resolver = async (name: string): Promise<string[][]> => {
    const value = records.get(name);
    if (value === undefined) throw Object.assign(new Error(`no record ${name}`), { code: 'ENOTFOUND' });
    return [value.match(/.{1,255}/g) ?? []];
  };
  const { results } = await dkimVerify(data, { resolver });
  return results;
}

const encodedWord = /=\?UTF-8\?([QB])\?([^? ]*)\?=/g;

/** @returns descriptions of all violations; empty for a valid message */
export function wireFaults(built: BuiltMessage): string[] {
  const { head, body } = split(built);
  return [...byteFaults(built, body), ...headerFaults(head), ...bodyFaults(body)];
}

function byteFaults(built: BuiltMessage, body: string): string[] {
  const faults: string[] = [];
  const whole = built.data.toString('latin1');
  if (whole.replaceAll('\r\n', '').match(/[\r\n\0]/)) faults.push('bare CR, LF or NUL');
  if (!whole.endsWith('\r\n')) faults.push('last line without CRLF');
  if (/[^\x00-\x7f]/.test(body)) faults.push('8-bit body');
  const eightBit = /[\x80-\xff]/.test(whole);
  if (eightBit !== built.eightBit || eightBit !== built.smtpUtf8)
    faults.push('8-bit bytes and flags disagree');
  return faults;
}

function headerFaults(head: string): string[] {
  const faults: string[] = [];
  for (const line of head.split('\r\n').slice(0, -1)) {
    if (line.length > 998) faults.push(`header line of ${line.length}`);
    if (line.length > 78 && /\S \S/.test(line.replace(/^\S*:? /, ''))) faults.push(`not folded: ${line}`);
    if (!/^(?:[!-9;-~]+: ?| \S)/.test(line)) faults.push(`neither a field nor a continuation: ${line}`);
    for (const [word, letter, payload = ''] of line.matchAll(encodedWord)) {
      if (word.length > 75) faults.push(`encoded word of ${word.length}`);
      // RFC 2047 §2.
      if (line.length > 76) faults.push(`line of ${line.length} with an encoded word`);
      if (!isUtf8(letter === 'B' ? Buffer.from(payload, 'base64') : decodeQ(payload))) {
        faults.push(`a character is split: ${word}`);
      }
    }
  }
  return faults;
}

function bodyFaults(body: string): string[] {
  const faults: string[] = [];
  for (const line of body.split('\r\n')) {
    if (line.length > 78) faults.push(`body line of ${line.length}`);
    if (/[ \t]$/.test(line)) faults.push('body line ends in white space');
    if (/^(?:From |\.)/.test(line)) faults.push(`body line that mail software changes: ${line}`);
    if (/[^\t\x20-\x7e]/.test(line)) faults.push('control character in the body');
  }
  return faults;
}

function decodeQ(payload: string): Buffer {
  const bytes = payload
    .replaceAll('_', ' ')
    .replace(/=([0-9A-F]{2})/g, (_whole, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1');
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}
