/** Media types of files (RFC 2045, section 5.1). */
import { parseMediaType } from '../../delivery/content/mime/parameters.ts';

const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`|~-]+";
const QUOTED = '"([\\x20\\x21\\x23-\\x5b\\x5d-\\x7e]|\\\\[\\x20-\\x7e])*"';
/** Its first group is the name. */
const PARAMETER = `;[ \\t]*(${TOKEN})=(${TOKEN}|${QUOTED})[ \\t]*`;

// Without groups that do not capture: some generators of clients cannot read them.
export const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}[ \\t]*(${PARAMETER})*$`);

/** The type and subtype in lower case, without parameters. */
export function essenceOf(contentType: string): string {
  return (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
}

/** Whether a file of the type can be attached in base64, which multipart and message types must not be (RFC 2046). */
export function isMailable(contentType: string): boolean {
  return !/^(?:multipart|message)\//.test(essenceOf(contentType));
}

/** @returns the value of a parameter; null without it */
export const parameterOf = (contentType: string, name: string): string | null =>
  parseMediaType(contentType)?.parameters[name] ?? null;

/** Removes the name of the file, in each of its forms (RFC 2231): the message says it, after it was checked. */
export const withoutName = (contentType: string): string =>
  contentType.replace(new RegExp(PARAMETER, 'g'), (whole, key: string) =>
    /^name(?:\*|$)/i.test(key) ? '' : whole,
  );
