/** Finds images that may be a page's logo. */
import type { Element } from 'domhandler';
import { getDomain } from 'tldts';
import { chainOf, labelsOf, type Page } from './document.ts';
import type { Organization } from './structured-data.ts';
import { svgTextOf } from './svg-text.ts';
import { webAddress } from './texts.ts';

const MAX_CANDIDATES = 5;
/** Number of ancestors whose class or id may mark an image as a logo. */
const MAX_ANCESTORS = 4;
/** Maximum length of a `data:` URL in characters: a megabyte in base64. */
const MAX_DATA = 1_400_000;

/** Where a logo is: the URL of an image, an SVG in the page, or image data in the page. */
export type LogoCandidate = { url: string } | { svg: string } | { data: string };

interface Ranked {
  score: number;
  candidate: LogoCandidate;
}

const LOGO = /logo/i;
/** Names that suggest the logos of other companies. */
const OTHERS =
  /partner|client|customer|sponsor|press|payment|trust|cloud|carousel|slider|marquee|wall|award|badge/i;

interface LogoContext {
  labels: string;
  isHomeLink: boolean;
}

function contextOf(element: Element, page: Page): LogoContext {
  let labels = '';
  let isHomeLink = false;
  let n = 0;
  for (const each of chainOf(element)) {
    if ((n += 1) > MAX_ANCESTORS) break;
    labels += ` ${labelsOf(each)}`;
    if (each.name === 'a' && each.attribs.href) isHomeLink ||= isHome(each.attribs.href, page);
  }
  return { labels, isHomeLink };
}

function isHome(href: string, { base, url }: Page): boolean {
  const address = webAddress(href, base);
  const target = address === null ? null : URL.parse(address);
  if (!target || target.search !== '') return false;
  return (
    /^\/(?:[a-z]{2}(?:-[a-z]{2})?\/?|index\.\w{1,5})?$/i.test(target.pathname) && isSameSite(target.href, url)
  );
}

function isSameSite(one: string, other: string): boolean {
  const hostOf = (url: string) => getDomain(url) ?? URL.parse(url)?.hostname;
  return hostOf(one) === hostOf(other);
}

function imageSource({ attribs }: Element): string {
  const { src = '', 'data-src': lazy = '' } = attribs;
  return lazy !== '' && (src === '' || src.startsWith('data:')) ? lazy : src;
}

function candidateAt(source: string, base: string): LogoCandidate | null {
  const text = source.trim();
  if (/^data:image\//i.test(text)) return text.length <= MAX_DATA ? { data: text } : null;
  const url = webAddress(text, base);
  return url === null ? null : { url };
}

/** Uses only the file name: a folder called `logo` may contain other images, too. */
function fileName(source: string): string {
  return source.startsWith('data:') ? '' : (source.split(/[?#]/)[0]?.split('/').at(-1) ?? '').slice(0, 200);
}

/** How likely an image in the page is its logo; 0: not at all. */
function imageScore(element: Element, page: Page): number {
  const { alt = '', title = '' } = element.attribs;
  const { labels, isHomeLink } = contextOf(element, page);
  const name = element.name === 'img' ? fileName(imageSource(element)) : '';
  const isLogo = LOGO.test(`${labels} ${alt.slice(0, 200)} ${title.slice(0, 200)} ${name}`);
  if (OTHERS.test(labels) || (!isLogo && !isHomeLink)) return 0;
  if (isHomeLink) return isLogo ? 12 : 9;
  return page.asides.has(element) ? 10 : 5;
}

function imagesIn(page: Page): Ranked[] {
  const found: Ranked[] = [];
  for (const element of page.elements) {
    if (element.name !== 'img' && element.name !== 'svg') continue;
    if (page.consents.has(element)) continue;
    const score = imageScore(element, page);
    if (score === 0) continue;
    const svg = element.name === 'svg' ? svgTextOf(element) : null;
    const candidate =
      element.name === 'img' ? candidateAt(imageSource(element), page.base) : svg === null ? null : { svg };
    if (candidate) found.push({ score, candidate });
    if (found.length >= MAX_CANDIDATES) break;
  }
  return found;
}

const LARGE = /svg|(?:^|\s)(?:6[4-9]|[7-9]\d|\d{3,4})x/i;

/** How likely an icon is the logo. Mail clients do not show `.ico` files. */
function iconScore({ rel = '', type = '', sizes = '' }: Record<string, string>): number {
  if (/apple-touch-icon/i.test(rel)) return 7;
  if (!/^(?:shortcut )?icon$/i.test(rel)) return 0;
  return LARGE.test(`${type} ${sizes}`) ? 6 : 1;
}

/** How likely the image for social posts about the page is the logo. */
function postImageScore({ property = '', content = '' }: Record<string, string>): number {
  if (property.toLowerCase() === 'og:logo') return 10;
  if (property.toLowerCase() !== 'og:image') return 0;
  return LOGO.test(fileName(content)) ? 8 : 2;
}

/** Images that a page declares in its head: icons, and the image for social posts. */
function declaredIn({ elements, base }: Page): Ranked[] {
  const found: Ranked[] = [];
  for (const { name, attribs } of elements) {
    if (name !== 'link' && name !== 'meta') continue;
    const score = name === 'link' ? iconScore(attribs) : postImageScore(attribs);
    const source = name === 'link' ? attribs.href : attribs.content;
    const candidate = score > 0 && source ? candidateAt(source, base) : null;
    if (candidate) found.push({ score, candidate });
    if (found.length === MAX_CANDIDATES * 2) break;
  }
  return found;
}

/** The most likely logos, the likeliest first. */
export function findLogos(page: Page, { logo }: Organization): LogoCandidate[] {
  const declared = logo === null ? null : candidateAt(logo, page.base);
  const ranked = [
    ...(declared ? [{ score: 11, candidate: declared }] : []),
    ...imagesIn(page),
    ...declaredIn(page),
  ];
  const seen = new Set<string>();
  const candidates: LogoCandidate[] = [];
  for (const { candidate } of ranked.toSorted((one, other) => other.score - one.score)) {
    const key = Object.values(candidate)[0] as string;
    if (seen.has(key)) continue;
    seen.add(key);
    candidates.push(candidate);
  }
  return candidates.slice(0, MAX_CANDIDATES);
}
