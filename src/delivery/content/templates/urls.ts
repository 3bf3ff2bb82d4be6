/** Decides which URLs are allowed in an email, before and after rendering. */
import { OTHER_LINK } from './link-schemes.ts';
import { scanHtml, type UrlAttribute } from '../mime/html-scan.ts';
import { escapeValue } from './values.ts';

/** What a URL is for: links are followed, images and the like are loaded. */
export type UrlKind = 'link' | 'image';

/** Replaces a URL that is not allowed. */
export const NO_URL = '#';

const MAX_SCHEME_SEARCH = 200;
const WEB_LINK = /^https?:\/\//i;

/** The beginning of a URL as a browser parses it: without surrounding spaces, tabs and line breaks. */
function beginningOf(url: string): string {
  return url
    .slice(0, MAX_SCHEME_SEARCH)
    .replace(/^[\0-\x20]+/, '')
    .replace(/[\t\r\n]/g, '');
}

const hasScheme = (beginning: string, kind: UrlKind): boolean =>
  WEB_LINK.test(beginning) || (kind === 'link' && OTHER_LINK.test(beginning));

/**
 * Whether a URL is allowed: a web address. A link may also have another known scheme, or lead to a place in the same email.
 * @param url with HTML entities decoded
 */
export function isAllowedUrl(url: string, kind: UrlKind): boolean {
  const beginning = beginningOf(url);
  return hasScheme(beginning, kind) || (kind === 'link' && beginning.startsWith('#'));
}

/** Whether every URL that begins with this constant is allowed. */
export function hasAllowedScheme(constant: string, kind: UrlKind): boolean {
  return hasScheme(beginningOf(constant), kind);
}

function isAllowedSet(candidates: string): boolean {
  return candidates.split(',').every((candidate) => isAllowedUrl(candidate, 'image'));
}

/** Whether the value of an attribute is allowed as a whole. */
export function isAllowedAttribute({ name, value, kind }: UrlAttribute): boolean {
  return name === 'srcset' ? isAllowedSet(value) : isAllowedUrl(value, kind);
}

/** A range of a text to replace. */
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

/** Replaces every URL in rendered HTML that is not allowed, in linear time. Unquoted attributes are quoted. */
export function enforceUrls(html: string): string {
  const edits: Edit[] = [];
  for (const attribute of scanHtml(html).urls) {
    const { start, end, quoted, value } = attribute;
    if (!isAllowedAttribute(attribute)) edits.push({ start, end, by: quoted ? NO_URL : `"${NO_URL}"` });
    else if (!quoted) edits.push({ start, end, by: `"${escapeValue(value)}"` });
  }
  return applyEdits(html, edits);
}
