/** Adds parameters such as `utm_source` to the web links of a content, for the analytics of the linked sites. */
import { escapeHtml } from './escape-html.ts';
import { LinkFinder } from './tracked-html.ts';

/** Names and values, not yet encoded. */
export type LinkParameters = readonly (readonly [name: string, value: string])[];

const HTTP = /^https?:\/\//i;
/** A web link in a text. Punctuation after the link is removed from the end of the match. */
const LINK_IN_TEXT = /https?:\/\/[^\s<>"]+/gi;
const AFTER_LINK = new Set(".,;:!?)]}'*_");

const namesOf = (query: string) =>
  new Set(query.split('&').map((parameter) => (parameter.split('=', 1)[0] ?? '').toLowerCase()));

/**
 * Adds parameters to a web link. Its existing parameters and its fragment stay unchanged.
 * @returns anything else unchanged
 */
export function withParameters(url: string, parameters: LinkParameters): string {
  if (!HTTP.test(url)) return url;
  const hashAt = url.indexOf('#');
  const base = hashAt < 0 ? url : url.slice(0, hashAt);
  const queryAt = base.indexOf('?');
  const query = queryAt < 0 ? '' : base.slice(queryAt + 1);
  const given = namesOf(query);
  const added = parameters
    .filter(([name]) => !given.has(name.toLowerCase()))
    .map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`);
  if (added.length === 0) return url;
  const joint = queryAt < 0 ? '?' : query === '' || query.endsWith('&') ? '' : '&';
  return base + joint + added.join('&') + url.slice(base.length);
}

/**
 * Adds parameters to the web links in HTML, in linear time. Everything else stays unchanged.
 * @param kept links that stay unchanged, such as those to unsubscribe
 */
export function addToHtmlLinks(
  html: string,
  parameters: LinkParameters,
  isKept: (url: string) => boolean,
): string {
  let result = '';
  let done = 0;
  for (const { start, end, value } of new LinkFinder(html).links) {
    const url = value.trim();
    const changed = isKept(url) ? url : withParameters(url, parameters);
    if (changed === url) continue;
    result += html.slice(done, start) + escapeHtml(changed);
    done = end;
  }
  return result + html.slice(done);
}

function linkLength(match: string): number {
  let length = match.length;
  while (length > 0 && AFTER_LINK.has(match.charAt(length - 1))) length -= 1;
  return length;
}

/**
 * Adds parameters to the web links of a text, in linear time.
 * @param replace returns the replacement of a kept link; by default the link itself
 */
export function addToTextLinks(
  text: string,
  parameters: LinkParameters,
  isKept: (url: string) => boolean,
  replace: (url: string) => string = (url) => url,
): string {
  return text.replace(LINK_IN_TEXT, (match) => {
    const url = match.slice(0, linkLength(match));
    const changed = isKept(url) ? replace(url) : withParameters(url, parameters);
    return changed + match.slice(url.length);
  });
}
