/** Splits the HTML of a text into tags, Liquid, white space and text. */
import { LIQUID } from './liquid-value.ts';
import { REFERENCES } from './rich-doc.ts';

export interface RichTag {
  kind: 'open' | 'close';
  tag: string;
  /** As written, with the space before it. */
  attributes: string;
}

export interface RichText {
  /** `exact` shows a text that would be written in another way. */
  kind: 'space' | 'text' | 'liquid' | 'exact';
  source: string;
  shown: string;
}

export type RichToken = RichTag | RichText;

/** A quoted text of an attribute, which may contain Liquid with quotation marks. */
const quotedBy = (mark: string) => String.raw`${mark}(?:${LIQUID}|[^${mark}{]|\{(?![{%]))*${mark}`;
const ATTRIBUTE = String.raw`[ \t\r\n\f]+[A-Za-z_:][\w:.-]*(?:=(?:${quotedBy('"')}|${quotedBy("'")}))?`;
const PATTERN = new RegExp(
  [
    String.raw`(?<liquid>${LIQUID})`,
    String.raw`<(?<close>\/?)(?<tag>[a-z][a-z0-9]*)(?<attributes>(?:${ATTRIBUTE})*[ \t\r\n\f]*\/?)>`,
    String.raw`(?<space>[ \t\r\n\f]+)`,
    String.raw`(?<reference>&(?:#x?[0-9a-fA-F]{1,6}|[A-Za-z]{2,8});)`,
    String.raw`(?<odd>[&>\u00a0])`,
    String.raw`(?<text>\{(?![{%])|[^<>&{ \t\r\n\f\u00a0]+)`,
  ].join('|'),
  'y',
);

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  nbsp: '\u00a0',
  quot: '"',
  apos: "'",
  copy: '©',
  reg: '®',
  trade: '™',
  euro: '€',
  pound: '£',
  hellip: '…',
  ndash: '–',
  mdash: '—',
  bull: '•',
  middot: '·',
  laquo: '«',
  raquo: '»',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  larr: '←',
  rarr: '→',
  times: '×',
  zwnj: '\u200c',
  shy: '\u00ad',
};
const MAX_CODE_POINT = 0x10ffff;

/** Returns null if the reference is unknown. */
function decoded(reference: string): string | null {
  const name = reference.slice(1, -1);
  if (!name.startsWith('#')) return NAMED[name] ?? null;
  const code = /^#x/i.test(name) ? parseInt(name.slice(2), 16) : parseInt(name.slice(1), 10);
  return code > 0 && code <= MAX_CODE_POINT ? String.fromCodePoint(code) : null;
}

function referenceToken(source: string): RichToken | null {
  const shown = decoded(source);
  if (shown === null) return null;
  return { kind: REFERENCES[shown] === source ? 'text' : 'exact', source, shown };
}

function tokenOf(groups: Record<string, string | undefined>): RichToken | null {
  const { liquid, close, tag, attributes = '', space, reference, odd, text = '' } = groups;
  if (tag !== undefined) return { kind: close === '/' ? 'close' : 'open', tag, attributes };
  if (liquid !== undefined) return { kind: 'liquid', source: liquid, shown: liquid };
  if (space !== undefined) return { kind: 'space', source: space, shown: ' ' };
  if (reference !== undefined) return referenceToken(reference);
  if (odd !== undefined) return { kind: 'exact', source: odd, shown: odd };
  return { kind: 'text', source: text, shown: text };
}

/** @returns null if something has no token, such as a comment */
export function tokensOf(html: string): RichToken[] | null {
  const tokens: RichToken[] = [];
  PATTERN.lastIndex = 0;
  while (PATTERN.lastIndex < html.length) {
    const token = tokenOf(PATTERN.exec(html)?.groups ?? {});
    // After a miss the pattern would begin again at 0.
    if (!token || PATTERN.lastIndex === 0) return null;
    tokens.push(token);
  }
  return tokens;
}
