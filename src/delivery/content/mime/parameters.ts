/** Parameters of MIME header fields (RFC 2045 §5.1, RFC 2231). */

const token = /^[!#$%&'*+.^_`{|}~0-9A-Za-z-]+$/;
const printable = /^[\x20-\x7e]*$/;
const maxSectionLength = 60;

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

function formatParameter(name: string, text: string): string[] {
  if (printable.test(text) && text.length <= maxSectionLength) {
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
