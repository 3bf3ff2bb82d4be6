/** Which URLs a mail may have, before and after rendering. */
import { scanHtml, type UrlAttribute } from './html-scan.ts';
import { escapeHtml } from './values.ts';

/** What a URL is for: links may be followed, images and the like are loaded. */
export type UrlKind = 'link' | 'image';

/** What takes the place of a URL that is not allowed. */
export const NO_URL = '#';

const MAX_SCHEME_SEARCH = 200;
const LINK = /^(?:https?:\/\/|mailto:|tel:)/i;
const IMAGE = /^https?:\/\//i;

/** The beginning of a URL as a browser reads it: without surrounding spaces, and without tabs and line breaks. */
function beginningOf(url: string): string {
  return url
    .slice(0, MAX_SCHEME_SEARCH)
    .replace(/^[\0-\x20]+/, '')
    .replace(/[\t\r\n]/g, '');
}

/**
 * Whether a URL may be rendered: a web address, for a link also mailto, tel, or a place in the same mail.
 * @param url decoded, not as it stands in HTML
 */
export function isAllowedUrl(url: string, kind: UrlKind): boolean {
  const beginning = beginningOf(url);
  return kind === 'image' ? IMAGE.test(beginning) : LINK.test(beginning) || beginning.startsWith('#');
}

/** Whether a constant decides alone that a URL which begins with it is allowed. */
export function hasAllowedScheme(constant: string, kind: UrlKind): boolean {
  return (kind === 'image' ? IMAGE : LINK).test(beginningOf(constant));
}

function isAllowedSet(candidates: string): boolean {
  return candidates.split(',').every((candidate) => isAllowedUrl(candidate, 'image'));
}

/** Whether the whole value of an attribute is allowed. */
export function isAllowedAttribute({ name, value, kind }: UrlAttribute): boolean {
  return name === 'srcset' ? isAllowedSet(value) : isAllowedUrl(value, kind);
}

/** A piece of a text to replace. */
export interface Edit {
  start: number;
  end: number;
  by: string;
}

/** @param edits in any order, without overlap */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  if (edits.length === 0) return text;
  const pieces: string[] = [];
  let done = 0;
  for (const { start, end, by } of edits.toSorted((a, b) => a.start - b.start)) {
    if (start < done) continue;
    pieces.push(text.slice(done, start), by);
    done = end;
  }
  pieces.push(text.slice(done));
  return pieces.join('');
}

/**
 * Replaces every URL in HTML that may not be rendered, in linear time. Attributes without quotes get them.
 * @param html rendered
 */
export function enforceUrls(html: string): string {
  const edits: Edit[] = [];
  for (const attribute of scanHtml(html).urls) {
    const { start, end, quoted, value } = attribute;
    if (!isAllowedAttribute(attribute)) edits.push({ start, end, by: quoted ? NO_URL : `"${NO_URL}"` });
    else if (!quoted) edits.push({ start, end, by: `"${escapeHtml(value)}"` });
  }
  return applyEdits(html, edits);
}
