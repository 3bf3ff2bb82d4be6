/** The fields of a mail that describe its body. */
import { headerOf, linesOf } from '../../delivery/content/read/lines.ts';

const DESCRIBES_BODY = /^(?:content-[!-9;-~]*|mime-version)$/i;
const NOT_ASCII = /[^\r\n\t -~]/;

/**
 * Reads the fields that describe the body, byte for byte: a value begins after the colon and has the breaks of its lines.
 * @param bytes the mail
 * @returns why the mail cannot be sent, or the fields in order
 */
export function bodyFields(bytes: Buffer): [name: string, value: string][] | string {
  const header = headerOf(bytes).toString('latin1');
  const fields: string[] = [];
  for (const { start, next } of linesOf(Buffer.from(header, 'latin1'))) {
    const line = header.slice(start, next);
    if (/^[ \t]/.test(line) && fields.length > 0) fields[fields.length - 1] += line;
    else fields.push(line);
  }
  const found = fields.flatMap((field): [string, string][] => {
    const colon = field.indexOf(':');
    const name = field.slice(0, Math.max(colon, 0)).trimEnd();
    return DESCRIBES_BODY.test(name) ? [[name, field.slice(colon + 1).replace(/\r?\n$/, '')]] : [];
  });
  const odd = found.find(([, value]) => NOT_ASCII.test(value));
  return odd ? `${odd[0]} has characters that are not ASCII` : found;
}
