/**
 * Finds web links in plain text, and where they end: before punctuation that belongs to the sentence, but after a bracket
 * that closes one of the link's own. The rules are those of extended autolinks in GitHub Flavored Markdown (spec, 6.9)
 * and, for links in angle brackets, of RFC 3986, appendix C.
 */

/**
 * A web link with the punctuation after it. Quotation marks and the punctuation of Chinese and Japanese end it, because
 * in a URL they are encoded.
 */
const LINK = /https?:\/\/[^\s<>"“”„«»、。〈-】〔-〛！（），：；？［］｛｝\u200b\u2060\ufeff]+/gi;
const AFTER_LINK = new Set(".,;:!?*_~'`|\\");
const OTHER_PUNCTUATION = /(?![\0-\x7f])\p{P}/u;
const SCHEME = /^https?:\/\/$/i;
const OPENING = '([{';
const CLOSING = ')]}';

export interface TextLink {
  url: string;
  start: number;
  /** Whether the link is in angle brackets. */
  enclosed: boolean;
}

/** For each kind of brackets, how many more close than open in a text. */
function unopened(text: string): number[] {
  const counts = [0, 0, 0];
  for (const character of text) {
    const opening = OPENING.indexOf(character);
    if (opening >= 0) counts[opening] = (counts[opening] ?? 0) - 1;
    const closing = CLOSING.indexOf(character);
    if (closing >= 0) counts[closing] = (counts[closing] ?? 0) + 1;
  }
  return counts;
}

/** The length of a link without the punctuation after it. */
function linkLength(match: string): number {
  const counts = unopened(match);
  let length = match.length;
  for (; length > 0; length -= 1) {
    const last = match.charAt(length - 1);
    const closing = CLOSING.indexOf(last);
    const opening = OPENING.indexOf(last);
    if (closing >= 0) {
      if ((counts[closing] ?? 0) <= 0) break;
      counts[closing] = (counts[closing] ?? 0) - 1;
    } else if (opening >= 0) counts[opening] = (counts[opening] ?? 0) + 1;
    else if (!AFTER_LINK.has(last) && !OTHER_PUNCTUATION.test(last)) break;
  }
  return length;
}

/** Characters in angle brackets that {@link LINK} takes for the end of a link. */
const REST = /[^\s<>"]*>/y;

/** The web links of a text, in order, in linear time. */
export function* textLinks(text: string): Generator<TextLink> {
  const pattern = new RegExp(LINK);
  for (let found = pattern.exec(text); found; found = pattern.exec(text)) {
    const { 0: match, index: start } = found;
    REST.lastIndex = start + match.length;
    const rest = text.charAt(start - 1) === '<' ? REST.exec(text) : null;
    if (rest) {
      yield { url: text.slice(start, REST.lastIndex - 1), start, enclosed: true };
      pattern.lastIndex = REST.lastIndex;
      continue;
    }
    const url = match.slice(0, linkLength(match));
    if (!SCHEME.test(url)) yield { url, start, enclosed: false };
  }
}
