/**
 * Finds where Liquid occurs in HTML, and makes its outputs safe there beyond escaping: attributes are quoted, and
 * values in styles and attribute names cannot break out of their place.
 */
import { type HtmlScan, type Range, scanHtml } from '../mime/html-scan.ts';
import { type Placeholder, type Placeholders, withFilter } from './placeholders.ts';
import { applyEdits, type Edit, hasAllowedScheme, isAllowedAttribute, NO_URL } from './urls.ts';
import { escapeValue } from './values.ts';

/** How far before a position to search for `url(`, in characters. */
const MAX_LOOK_BACK = 2_000;

type HtmlContext = 'text' | 'attribute' | 'css' | 'name';

interface Zone extends Range {
  place: HtmlContext;
}

/** The zones that are not text, in order and without overlap. */
function zonesOf({ tags, styles, scripts }: HtmlScan): Zone[] {
  const zones: Zone[] = [
    ...styles.map((range): Zone => ({ ...range, place: 'css' })),
    ...scripts.map((range): Zone => ({ ...range, place: 'name' })),
  ];
  for (const { start, end, attributes } of tags) {
    let at = start;
    for (const attribute of attributes) {
      zones.push({ start: at, end: attribute.start, place: 'name' });
      const place = attribute.name === 'style' ? 'css' : 'attribute';
      zones.push({ start: attribute.start, end: attribute.end, place });
      at = attribute.end;
    }
    zones.push({ start: at, end, place: 'name' });
  }
  return zones.toSorted((one, other) => one.start - other.start);
}

const USES_RAW = /\|\s*(?:raw|newline_to_br)\b/;

/** The filter for a value inside a style. @param before the style up to the value */
function cssFilter(before: string): string {
  const open = before.toLowerCase().lastIndexOf('url(');
  if (open < 0 || before.indexOf(')', open) >= 0) return 'in_css';
  const constant = before.slice(open + 'url('.length).replaceAll(/['"\s]|&quot;|&#39;/g, '');
  return hasAllowedScheme(constant, 'image') ? 'in_css_url: "rest"' : 'in_css_url';
}

function sourceAt({ token, start }: Placeholder, html: string, zone: Zone | null): string {
  const { source, isOutput } = token;
  if (!isOutput || !zone) return source;
  switch (zone.place) {
    case 'css':
      return withFilter(source, cssFilter(html.slice(Math.max(zone.start, start - MAX_LOOK_BACK), start)));
    case 'name':
      return withFilter(source, 'in_name');
    case 'attribute':
      return USES_RAW.test(source) ? withFilter(source, 'in_attribute') : source;
    case 'text':
      return source;
  }
}

/**
 * Quotes attributes that have Liquid, and removes URLs that are not allowed in email.
 * @param html with placeholders instead of Liquid
 */
export function closeAttributes(html: string, placeholders: Placeholders): string {
  const scan = scanHtml(html);
  const words = placeholders.find(html);
  let next = 0;
  /** Must be called with ranges in order. */
  const hasWord = ({ start, end }: Range) => {
    while (next < words.length && (words[next] as Placeholder).start < start) next += 1;
    return next < words.length && (words[next] as Placeholder).start < end;
  };
  const urls = new Map(scan.urls.map((url) => [url.start, url]));
  const edits: Edit[] = [];
  for (const { attributes } of scan.tags.toSorted((one, other) => one.start - other.start)) {
    for (const attribute of attributes) {
      const { start, end, quoted } = attribute;
      const value = html.slice(start, end);
      const url = urls.get(start);
      const withWord = hasWord(attribute);
      if (url && !withWord && !isAllowedAttribute(url)) {
        edits.push({ start, end, by: quoted ? NO_URL : `"${NO_URL}"` });
      } else if (withWord && !quoted)
        edits.push({ start, end, by: `"${value.replaceAll('"', escapeValue('"'))}"` });
    }
  }
  return applyEdits(html, edits);
}

/**
 * Puts the Liquid back into HTML, and adds the filters that each output needs at its place.
 * @param html with placeholders instead of Liquid
 */
export function showInPlace(html: string, placeholders: Placeholders): string {
  const zones = zonesOf(scanHtml(html));
  let next = 0;
  return placeholders.show(html, (placeholder) => {
    while (next < zones.length && (zones[next] as Zone).end <= placeholder.start) next += 1;
    const zone = zones[next];
    return sourceAt(placeholder, html, zone && zone.start <= placeholder.start ? zone : null);
  });
}

const ENDS_RAW = /\|\s*raw\s*-?\}\}$/;

/**
 * Puts the Liquid back into a text generated from HTML. Outputs of raw HTML lose their tags, and a link is left out if
 * its label is the same value.
 * @param text with placeholders instead of Liquid
 */
export function showInText(text: string, placeholders: Placeholders): string {
  const pieces: string[] = [];
  let done = 0;
  let last: Placeholder | null = null;
  for (const found of placeholders.find(text)) {
    const { start, end, token } = found;
    const between = text.slice(done, start);
    const isLabelled = last?.token.source === token.source && between === ' <' && text.startsWith('>', end);
    last = found;
    done = isLabelled ? end + 1 : end;
    if (isLabelled) continue;
    pieces.push(between);
    pieces.push(
      token.isOutput && ENDS_RAW.test(token.source) ? withFilter(token.source, 'strip_html') : token.source,
    );
  }
  pieces.push(text.slice(done));
  return pieces.join('');
}
