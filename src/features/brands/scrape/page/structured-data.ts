/** Reads what a page's JSON-LD (https://schema.org/Organization) says about its publisher. */
import { isText } from 'domhandler';
import { type Page, textOfMarkup } from './document.ts';

const MAX_SCRIPTS = 20;
const MAX_SCRIPT = 256 * 1024;
const MAX_NODES = 5_000;
const MAX_LINES = 20;

/** Untrusted texts, exactly as in the page. */
export interface Organization {
  name: string | null;
  description: string | null;
  logo: string | null;
  /** One line of the address per entry. */
  address: string[];
  sameAs: string[];
}

type Thing = Record<string, unknown>;

const TYPE = /(?:organization|corporation|business|store|restaurant|hotel|brand|company|ngo|shop)$/i;
const WEBSITE = /^website$/i;

function isThing(value: unknown): value is Thing {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value.slice(0, MAX_LINES) : [value];
}

/** Many pages write these texts like HTML, with entities or even tags. */
function textIn(value: unknown): string | null {
  for (const each of listOf(value)) {
    if (typeof each === 'string' && each.trim() !== '') return textOfMarkup(each);
  }
  return null;
}

function hasType(thing: Thing, pattern: RegExp): boolean {
  return listOf(thing['@type']).some((type) => typeof type === 'string' && pattern.test(type.slice(-60)));
}

/** All objects in a JSON text, outer ones first. */
function* thingsIn(json: string): Generator<Thing> {
  let root: unknown;
  try {
    root = JSON.parse(json);
  } catch {
    return;
  }
  const queue: unknown[] = [root];
  for (let n = 0; n < queue.length && n < MAX_NODES; n += 1) {
    const value = queue[n];
    if (isThing(value)) yield value;
    if (typeof value !== 'object' || value === null || queue.length >= MAX_NODES) continue;
    for (const inner of Object.values(value).slice(0, MAX_NODES)) {
      if (typeof inner === 'object' && inner !== null) queue.push(inner);
    }
  }
}

function addressLines(value: unknown): string[] {
  for (const each of listOf(value)) {
    if (typeof each === 'string' && each.trim() !== '')
      return textOfMarkup(each).split('\n').slice(0, MAX_LINES);
    if (!isThing(each)) continue;
    const part = (name: string) => textIn(each[name]) ?? '';
    const country = isThing(each.addressCountry)
      ? textIn(each.addressCountry.name)
      : textIn(each.addressCountry);
    const town = [part('postalCode'), part('addressLocality'), part('addressRegion')].filter(
      (text) => text !== '',
    );
    const lines = [...part('streetAddress').split('\n'), town.join(' '), country ?? ''];
    // A country alone is not an address.
    if (lines.slice(0, -1).some((line) => line.trim() !== '')) return lines.slice(0, MAX_LINES);
  }
  return [];
}

function logoIn(value: unknown): string | null {
  for (const each of listOf(value)) {
    const found = isThing(each) ? (textIn(each.url) ?? textIn(each.contentUrl)) : textIn(each);
    if (found) return found;
  }
  return null;
}

function organizationOf(thing: Thing): Organization {
  return {
    name: textIn(thing.name),
    description: textIn(thing.description),
    logo: logoIn(thing.logo),
    address: addressLines(thing.address),
    sameAs: listOf(thing.sameAs).filter((each) => typeof each === 'string'),
  };
}

function scriptsOf({ elements }: Page): string[] {
  const found: string[] = [];
  for (const { name, attribs, children } of elements) {
    if (name !== 'script' || attribs.type?.trim().toLowerCase() !== 'application/ld+json') continue;
    const text = children.map((child) => (isText(child) ? child.data : '')).join('');
    if (text.length <= MAX_SCRIPT) found.push(text);
    if (found.length === MAX_SCRIPTS) break;
  }
  return found;
}

const NOTHING: Organization = { name: null, description: null, logo: null, address: [], sameAs: [] };

/** Merges what the page says about organizations: for each field, the first value wins. A website's name comes last. */
export function readOrganization(page: Page): Organization {
  const things = scriptsOf(page).flatMap((json) => [...thingsIn(json)]);
  const organizations = things.filter((thing) => hasType(thing, TYPE)).map(organizationOf);
  const websites = things.filter((thing) => hasType(thing, WEBSITE)).map(organizationOf);
  return [...organizations, ...websites].reduce(
    (merged, each) => ({
      name: merged.name ?? each.name,
      description: merged.description ?? each.description,
      logo: merged.logo ?? each.logo,
      address: merged.address.length > 0 ? merged.address : each.address,
      sameAs: merged.sameAs.length > 0 ? merged.sameAs : each.sameAs,
    }),
    NOTHING,
  );
}
