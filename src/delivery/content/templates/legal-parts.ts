/**
 * Checks for what marketing emails must show: the sender's address and a link to unsubscribe. Only what every recipient
 * sees counts: nothing in comments, attributes or styles, in elements hidden by their own style or a simple rule of a style
 * sheet, or between Liquid tags such as `{% if %}`. In doubt, a part counts as missing, and the footer shows it.
 */
import type { BrandParts } from './content.ts';
import { linesOf } from './footer.ts';
import { unseenElements, shownTags } from '../mime/hidden-elements.ts';
import { type HtmlScan, type Range, scanHtml } from '../mime/html-scan.ts';
import type { Placeholder, Placeholders } from './placeholders.ts';
import { escapeValue } from './values.ts';

const UNSUBSCRIBE = /^\{\{-?\s*unsubscribe_url\s*-?\}\}$/;
const ADDRESS = /^\{\{-?\s*brand\.physical_address(?:\s*\|\s*newline_to_br)?\s*-?\}\}$/;
const EMPTY = /^\s*<\/a\b/i;
/** Liquid tags without an end tag, which enclose nothing. */
const SINGLE = /^\{%-?\s*(?:assign|increment|decrement|echo|cycle)\b/;

/** From the first Liquid tag to the last. Anything between two tags may not be rendered. */
function conditionalRange(words: readonly Placeholder[]): Range {
  const tags = words.filter(({ token }) => !token.isOutput && !SINGLE.test(token.source));
  return { start: tags[0]?.start ?? 0, end: tags.at(-1)?.end ?? 0 };
}

const isIn = ({ start, end }: Range, at: number): boolean => start <= at && at < end;

/** The range of each `<title>`: mail programs never show it, wherever it is. */
function titlesOf(html: string, { tags }: HtmlScan): Range[] {
  const titles: Range[] = [];
  for (const { name, end: start } of tags.toSorted((one, other) => one.start - other.start)) {
    if (name !== 'title' || start < (titles.at(-1)?.end ?? 0)) continue;
    const ending = /<\/title/gi;
    ending.lastIndex = start;
    titles.push({ start, end: ending.exec(html)?.index ?? html.length });
  }
  return titles;
}

/**
 * The HTML with everything that is not shown replaced by spaces: tags, titles, comments, styles, scripts, hidden
 * elements, and anything between Liquid tags.
 */
function shownText(html: string, scan: HtmlScan, hidden: Range): string {
  const { tags, comments, styles, scripts, bodyStart } = scan;
  const head = { start: 0, end: Math.max(bodyStart, 0) };
  const unseen = [...titlesOf(html, scan), ...comments, ...styles, ...scripts, ...unseenElements(html, scan)];
  const ranges = [head, ...tags, ...unseen, hidden];
  let text = '';
  let done = 0;
  for (const { start, end } of ranges.toSorted((one, other) => one.start - other.start)) {
    if (start > done) text += `${html.slice(done, start)} `;
    done = Math.max(done, end);
  }
  return text + html.slice(done);
}

/** Whether an `<a>` that every recipient sees links to exactly `{{ unsubscribe_url }}`. */
export function hasUnsubscribeLink(html: string, placeholders: Placeholders): boolean {
  const scan = scanHtml(html);
  const words = placeholders.find(html);
  const hidden = conditionalRange(words);
  const targets = new Set(
    words
      .filter(({ token, start }) => token.isOutput && UNSUBSCRIBE.test(token.source) && !isIn(hidden, start))
      .map(({ start, end }) => `${start} ${end}`),
  );
  const concealed = unseenElements(html, scan);
  let next = 0;
  return shownTags(scan).some(({ name, start: at, end: tagEnd, attributes }) => {
    while ((concealed[next]?.end ?? Infinity) <= at) next += 1;
    if (name !== 'a' || (concealed[next]?.start ?? Infinity) <= at) return false;
    const leads = attributes.some(
      ({ name: attribute, start, end }) => attribute === 'href' && targets.has(`${start} ${end}`),
    );
    return leads && !EMPTY.test(html.slice(tagEnd));
  });
}

/** Whether every recipient sees the brand's address as text. */
export function showsAddress(html: string, brand: BrandParts, placeholders: Placeholders): boolean {
  const text = shownText(html, scanHtml(html), conditionalRange(placeholders.find(html)));
  if (placeholders.find(text).some(({ token }) => ADDRESS.test(token.source))) return true;
  return linesOf(brand.physical_address).every((line) => text.includes(escapeValue(line)));
}
