/** Finds the publisher of a page, and samples of how they write. */
import type { Element } from 'domhandler';
import { getDomainWithoutSuffix } from 'tldts';
import { type Page, textOf } from './document.ts';
import type { Organization } from './structured-data.ts';
import { nameKey, plainLines, plainText, webAddress } from './texts.ts';

const MAX_NAME = 100;
const MAX_DESCRIPTION = 1_000;
const MAX_ADDRESS_LINES = 8;
const MAX_ADDRESS_LINE = 120;
const MAX_COPY = 6;
const MAX_COPY_LENGTH = 500;
const MIN_COPY_LENGTH = 40;
const MAX_LINKS = 20;

/** The content of the first `<meta>` with one of these names. */
function metaOf({ elements }: Page, ...names: string[]): string | null {
  for (const name of names) {
    for (const { name: tag, attribs } of elements) {
      const given = attribs.property ?? attribs.name;
      if (tag !== 'meta' || given?.toLowerCase() !== name) continue;
      if (attribs.content?.trim()) return attribs.content;
    }
  }
  return null;
}

const SEPARATOR = /\s+[|\-–—·•:»]+\s+|:\s+|\s*\|\s*/;
/** Titles that are not the name of a company. */
const EMPTY_TITLE = /^(?:home(?:page)?|index|welcome|start(?:seite)?|accueil|inicio|untitled.*|document)$/i;

/** Legal forms, which only company names have. */
const LEGAL_FORM = /\b(?:inc|ltd|llc|plc|gmbh|kg|ag|srl|bv|oy|ab|aps)\.?$|株式会社|有限会社|有限公司/i;

/**
 * The part of the title that is the name: the part that resembles the domain or has a legal form, else the shortest.
 */
function nameInTitle(title: string, url: string): string | null {
  const parts = plainText(title, 300)
    .split(SEPARATOR)
    .map((part) => part.trim())
    .filter((part) => part !== '' && !EMPTY_TITLE.test(part));
  const domain = nameKey(getDomainWithoutSuffix(url) ?? '');
  const like = parts.find((part) => {
    const key = nameKey(part);
    return (
      domain.length > 1 &&
      key.length > 1 &&
      (key === domain || domain.startsWith(key) || key.startsWith(domain))
    );
  });
  const named = like ?? parts.find((part) => LEGAL_FORM.test(part));
  if (named) return named;
  const [shortest] = parts.toSorted((one, other) => one.length - other.length);
  return shortest ?? null;
}

function companyName(page: Page, organization: Organization): string | null {
  const title = page.elements.find(({ name }) => name === 'title');
  const given =
    organization.name ?? metaOf(page, 'og:site_name', 'application-name', 'apple-mobile-web-app-title');
  const name = given ?? (title ? nameInTitle(rawText(title), page.url) : null);
  return name === null ? null : plainText(name, MAX_NAME) || null;
}

/** The text of an element that has only text, such as `<title>`. */
function rawText({ children }: Element): string {
  return children.map((child) => ('data' in child ? child.data : '')).join('');
}

function description(page: Page, organization: Organization): string | null {
  const given =
    organization.description ?? metaOf(page, 'description', 'og:description', 'twitter:description');
  return given === null ? null : plainText(given, MAX_DESCRIPTION) || null;
}

/** A postal address contains a number: a house number or a postal code. */
const HAS_NUMBER = /\p{N}/u;

function addressIn({ elements }: Page): string[] {
  for (const element of elements) {
    const isAddress =
      element.name === 'address' || /PostalAddress$/i.test((element.attribs.itemtype ?? '').slice(-30));
    if (!isAddress) continue;
    const lines = textOf(element, 600)
      .split('\n')
      .filter((line) => line.trim() !== '' && !/@|^\s*(?:tel|phone|fax|e-?mail)\b/i.test(line));
    if (
      lines.length > 0 &&
      lines.length <= MAX_ADDRESS_LINES &&
      lines.some((line) => HAS_NUMBER.test(line))
    ) {
      return lines;
    }
  }
  return [];
}

function physicalAddress(page: Page, { address }: Organization): string | null {
  const lines = address.length > 0 ? address : addressIn(page);
  return plainLines(lines, MAX_ADDRESS_LINES, MAX_ADDRESS_LINE) || null;
}

export interface SocialLink {
  url: string;
  icon: string;
  title: string;
}

/** Social networks, by the registrable domain of their pages. */
const NETWORKS: Readonly<Record<string, [icon: string, title: string]>> = {
  'facebook.com': ['facebook', 'Facebook'],
  'instagram.com': ['instagram', 'Instagram'],
  'linkedin.com': ['linkedin', 'LinkedIn'],
  'x.com': ['x', 'X'],
  'twitter.com': ['x', 'X'],
  'youtube.com': ['youtube', 'YouTube'],
  'tiktok.com': ['tiktok', 'TikTok'],
  'pinterest.com': ['pinterest', 'Pinterest'],
  'threads.net': ['threads', 'Threads'],
  'threads.com': ['threads', 'Threads'],
  'bsky.app': ['bluesky', 'Bluesky'],
  'github.com': ['github', 'GitHub'],
  'vimeo.com': ['vimeo', 'Vimeo'],
  'xing.com': ['xing', 'XING'],
  'mastodon.social': ['mastodon', 'Mastodon'],
};

/** Paths with which visitors share a page. */
const SHARE =
  /^\/(?:sharer|share|sharearticle|intent|dialog|pin\/create|plugins|home\?status|embed|watch)\b/i;

function networkOf(address: string): [icon: string, title: string] | undefined {
  const url = URL.parse(address);
  if (!url || url.pathname === '/' || url.pathname === '' || SHARE.test(url.pathname)) return undefined;
  const host = url.hostname.replace(/^(?:www|m|mobile|[a-z]{2}(?:-[a-z]{2})?)\./, '');
  return Object.hasOwn(NETWORKS, host) ? NETWORKS[host] : undefined;
}

/** For each network, the first page that this page links to. */
function socialLinks({ elements, base }: Page, { sameAs }: Organization): SocialLink[] {
  const found = new Map<string, SocialLink>();
  const add = (given: string) => {
    const url = webAddress(given, base);
    const network = url === null ? undefined : networkOf(url);
    if (url === null || !network || found.size >= MAX_LINKS) return;
    const [icon, title] = network;
    if (!found.has(icon)) found.set(icon, { url, icon, title });
  };
  sameAs.forEach(add);
  for (const { name, attribs } of elements) if (name === 'a' && attribs.href) add(attribs.href);
  return [...found.values()];
}

/** Headings and paragraphs of the page's own text, in order. */
function exampleCopy({ elements, asides, consents }: Page): string[] {
  const found: string[] = [];
  for (const element of elements) {
    const isHeading = element.name === 'h1' || element.name === 'h2';
    if (!isHeading && element.name !== 'p') continue;
    if (asides.has(element) || consents.has(element)) continue;
    const text = plainText(textOf(element, MAX_COPY_LENGTH * 2), MAX_COPY_LENGTH);
    if (text.length < (isHeading ? 3 : MIN_COPY_LENGTH) || found.includes(text)) continue;
    found.push(text);
    if (found.length === MAX_COPY) break;
  }
  return found;
}

export interface Identity {
  company_name: string | null;
  company_description: string | null;
  physical_address: string | null;
  links: SocialLink[];
  example_copy: string[];
}

export function findIdentity(page: Page, organization: Organization): Identity {
  return {
    company_name: companyName(page, organization),
    company_description: description(page, organization),
    physical_address: physicalAddress(page, organization),
    links: socialLinks(page, organization),
    example_copy: exampleCopy(page),
  };
}
