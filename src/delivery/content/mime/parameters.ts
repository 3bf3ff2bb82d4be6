/** Parameters of MIME header fields (RFC 2045 §5.1, RFC 2231). */
import { encodeWords } from './encoded-words.ts';

const token = /^[!#$%&'*+.^_`{|}~0-9A-Za-z-]+$/;
const printable = /^[\x20-\x7e]*$/;
const maxSectionLength = 60;

/** Some programs read encoded words in quotes, although RFC 2047 §5 does not allow them there. */
const isLiteral = (text: string): boolean => printable.test(text) && !text.includes('=?');

/**
 * Formats `value; name=value; …` with each parameter on its own line: as a token, quoted, or, if it is not ASCII or is
 * too long for a line, percent-encoded in numbered sections.
 * @param value such as `text/plain`
 */
export function formatParameterized(value: string, parameters: Record<string, string>): string {
  const lines = Object.entries(parameters).flatMap(([name, text]) =>
    formatParameter(name, text.toWellFormed()),
  );
  return [value, ...lines].join(';\r\n ');
}

/**
 * Formats a media type with the name of a file. Outlook and others read a name that is not ASCII only as encoded words
 * in quotes. Programs that know RFC 2231 prefer the name in Content-Disposition.
 * @param parameters of the type; a name among them is replaced
 */
export function formatNamed(type: string, parameters: Record<string, string>, filename: string): string {
  const name = filename.toWellFormed();
  if (isLiteral(name)) return formatParameterized(type, { ...parameters, name });
  const others = Object.fromEntries(Object.entries(parameters).filter(([key]) => key !== 'name'));
  const words = encodeWords(name, nameWordLength);
  return `${formatParameterized(type, others)};\r\n name="${words.join('\r\n ')}"`;
}

/** What a line of 76 characters leaves for the first word of a name. */
const nameWordLength = 76 - ' name=""'.length;

const tokenText = "[!#$%&'*+.^_`{|}~0-9A-Za-z-]+";
const mediaType = new RegExp(`${tokenText}/${tokenText}`, 'y');
const quotedText = '"((?:[^"\\\\\\x00-\\x1f\\x7f]|\\\\[ -~])*)"';
const parameter = new RegExp(`[ \\t]*;[ \\t]*(${tokenText})=(?:(${tokenText})|${quotedText})[ \\t]*`, 'y');

/**
 * Reads a media type, such as `text/calendar; method=REQUEST`.
 * @returns type and names of parameters in lower case, with the first value of each; null if it is malformed
 */
export function parseMediaType(given: string): { type: string; parameters: Record<string, string> } | null {
  const text = given.trim();
  mediaType.lastIndex = 0;
  const [type] = mediaType.exec(text) ?? [];
  if (type === undefined) return null;
  const parameters: Record<string, string> = {};
  let end = type.length;
  while (end < text.length) {
    parameter.lastIndex = end;
    const [found, name = '', plain, quoted = ''] = parameter.exec(text) ?? [];
    if (found === undefined) return null;
    parameters[name.toLowerCase()] ??= plain ?? quoted.replace(/\\(.)/g, '$1');
    end += found.length;
  }
  return { type: type.toLowerCase(), parameters };
}

/**
 * The method of an invitation, such as `REQUEST`: a calendar that mail programs show with buttons (RFC 6047 §2.4).
 * @returns null if the type is not that of an invitation
 */
export function invitationMethod(contentType: string): string | null {
  const { type, parameters } = parseMediaType(contentType) ?? {};
  return type === 'text/calendar' ? (parameters?.method?.toUpperCase() ?? null) : null;
}

function formatParameter(name: string, text: string): string[] {
  if (isLiteral(text) && text.length <= maxSectionLength) {
    return [`${name}=${token.test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`}`];
  }
  const sections = extendedSections(text);
  if (sections.length === 1) return [`${name}*=${sections[0] ?? ''}`];
  return sections.map((section, index) => `${name}*${index}*=${section}`);
}

/** RFC 2231 §4.1: only the first section names the charset. No character is split. */
function extendedSections(text: string): string[] {
  const sections: string[] = [];
  let section = `utf-8''`;
  for (const character of text) {
    const encoded = percentEncode(character);
    if (section.length + encoded.length > maxSectionLength) {
      sections.push(section);
      section = '';
    }
    section += encoded;
  }
  return [...sections, section];
}

/** Also encodes the characters that `encodeURIComponent` leaves but RFC 2231 §7 does not allow. */
function percentEncode(character: string): string {
  return encodeURIComponent(character).replace(
    /[*'()]/g,
    (reserved) => `%${reserved.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
