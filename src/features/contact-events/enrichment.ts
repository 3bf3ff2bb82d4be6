import bowser from 'bowser';
import { LRUCache } from 'lru-cache';
import { MAX_UTM_LENGTH } from './schema.ts';

/** Maximum number of characters to parse: a browser's name is near the start, and more would only take longer. */
const MAX_PARSED_LENGTH = 500;
const MAX_CACHED = 5_000;

/** What a user agent says about itself. Null: unknown. */
export interface Client {
  browser: string | null;
  os: string | null;
  /** `desktop`, `mobile`, `tablet`, `tv` or `bot`. */
  device_type: string | null;
}

const NO_CLIENT: Client = { browser: null, os: null, device_type: null };

const clients = new LRUCache<string, Client>({ max: MAX_CACHED });

function orNull(name: string | undefined): string | null {
  return name === undefined || name === '' ? null : name;
}

/** Parsing takes up to a millisecond, and the same few user agents recur. */
export function describeClient(userAgent: string | undefined): Client {
  const text = userAgent?.slice(0, MAX_PARSED_LENGTH).trim() ?? '';
  if (text === '') return NO_CLIENT;
  const known = clients.get(text);
  if (known) return known;
  const { browser, os, platform } = bowser.parse(text);
  const client = {
    browser: orNull(browser.name),
    os: orNull(os.name),
    device_type: orNull(platform.type),
  };
  clients.set(text, client);
  return client;
}

export const utmNames = ['utm_source', 'utm_medium', 'utm_term', 'utm_content', 'utm_campaign'] as const;
export type Utm = Record<(typeof utmNames)[number], string | null>;

function queryOf(url: string | undefined): URLSearchParams | null {
  const query = url?.includes('utm_') ? URL.parse(url)?.searchParams : null;
  return query ?? null;
}

/** @returns null for a parameter that is missing, empty or cannot be stored */
function parameter(query: URLSearchParams | null, name: string): string | null {
  const value = query?.get(name) ?? '';
  if (value === '' || value.includes('\0')) return null;
  return value.slice(0, MAX_UTM_LENGTH).toWellFormed();
}

/** Returns the parameters of the request. Missing ones come from the query of `resource_url`, or else of `referrer`. */
export function findUtm(
  given: Partial<Record<keyof Utm, string | undefined>>,
  urls: { resource_url?: string | undefined; referrer?: string | undefined },
): Utm {
  const queries = [queryOf(urls.resource_url), queryOf(urls.referrer)];
  const valueOf = (name: keyof Utm) =>
    given[name] ?? queries.map((query) => parameter(query, name)).find((value) => value !== null) ?? null;
  return Object.fromEntries(utmNames.map((name) => [name, valueOf(name)])) as Utm;
}
