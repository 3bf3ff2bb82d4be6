/** Adds parameters such as `utm_source` to the web links of a content, for the analytics of the linked sites. */
import { escapeHtml } from './escape-html.ts';
import { textLinks } from './text-links.ts';
import { LinkFinder } from './tracked-html.ts';

/** Names and values, not yet encoded. */
export type LinkParameters = readonly (readonly [name: string, value: string])[];

const HTTP = /^https?:\/\//i;

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

/**
 * Adds parameters to the web links of a text, in linear time.
 * @param replace returns the replacement of a kept link; by default the link itself
 */
export function addToTextLinks(
  text: string,
  parameters: LinkParameters,
  isKept: (url: string) => boolean,
  replace: (url: string, isEnclosed: boolean) => string = (url) => url,
): string {
  let result = '';
  let done = 0;
  for (const { url, start, enclosed } of textLinks(text)) {
    result += text.slice(done, start);
    result += isKept(url) ? replace(url, enclosed) : withParameters(url, parameters);
    done = start + url.length;
  }
  return result + text.slice(done);
}
