/** Fetches parts of a website within limits: bytes, time, requests, redirects, and its robots.txt. */
import type { Egress } from '../../../../platform/egress/client.ts';
import type { EgressFailure, EgressResponse } from '../../../../platform/egress/exchange.ts';
import type { Source } from '../page/jobs.ts';
import type { PageReader } from '../page/reader.ts';
import type { RobotsRule } from '../page/robots.ts';
import { webAddress } from '../page/texts.ts';
import { ACCEPT_ENCODING, decodeBody } from './body.ts';

/** The name under which robots.txt files address this robot. */
export const ROBOT = 'Carillon-Brand';

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** RFC 9309, section 2.5: at least 500 KiB must be read. */
const MAX_ROBOTS_BYTES = 512 * 1024;
const ROBOTS_MS = 10_000;

/** Why something was not fetched. No reason reveals more about a URL than that it cannot be reached. */
export type FetchFault = 'unreachable' | 'timeout' | 'robots';

export type Fetched = Source | { fault: FetchFault };

export interface WebsiteLimits {
  /** Limit for all bodies together, as received or as decoded, whichever is larger. */
  totalBytes: number;
  totalMs: number;
  requests: number;
}

export const WEBSITE_LIMITS: WebsiteLimits = { totalBytes: 5 * 1024 * 1024, totalMs: 30_000, requests: 80 };

export interface FetchOptions {
  maxBytes: number;
  accept: string;
  /** Time limit for this request and its redirects, unless less time is left overall. */
  maxMs?: number;
}

export interface Website {
  /** How long until the scrape's time is over, in ms; negative afterwards. */
  timeLeftMs(): number;
  /** Fetches a URL. If a body is too long, returns its beginning. Never throws because of the website. */
  fetch(url: string, options: FetchOptions): Promise<Fetched>;
}

export interface WebsiteDeps {
  egress: Egress;
  reader: PageReader;
  limits: WebsiteLimits;
  /** Aborted after `limits.totalMs`. */
  deadline: AbortSignal;
  signal: AbortSignal;
}

/**
 * The content of a robots.txt. A site without one allows everything; a site whose robots.txt cannot be fetched allows
 * nothing (RFC 9309, section 2.3.1).
 */
type Robots = readonly RobotsRule[] | FetchFault;

const EVERYTHING: Robots = [];

const EMPTY = Buffer.alloc(0);

interface Asked {
  maxBytes: number;
  accept: string;
  /** A time of `performance.now()`. */
  until: number;
}

type Ask = (
  url: string,
  asked: Asked,
) => Promise<{ response: EgressResponse; body: Buffer } | { fault: FetchFault }>;

/** Makes single requests, without following redirects, until the budget is used up. */
function createAsk({ egress, limits, signal }: WebsiteDeps): Ask {
  let bytesLeft = limits.totalBytes;
  let requestsLeft = limits.requests;
  return async function ask(url, { maxBytes, accept, until }) {
    signal.throwIfAborted();
    const timeoutMs = until - performance.now();
    if (timeoutMs <= 0) return { fault: 'timeout' };
    const maxResponseBytes = Math.min(maxBytes, bytesLeft);
    if (maxResponseBytes <= 0 || (requestsLeft -= 1) < 0) return { fault: 'unreachable' };
    const headers = { accept, 'accept-encoding': ACCEPT_ENCODING };
    const result = await egress.request({
      url,
      method: 'GET',
      headers,
      timeoutMs,
      maxResponseBytes,
      signal,
      web: true,
    });
    signal.throwIfAborted();
    if (!result.ok) {
      bytesLeft -= result.receivedBytes;
      return { fault: faultOf(result) };
    }
    const encoding = headerOf(result, 'content-encoding');
    const body = isSuccess(result) ? await decodeBody(result.body, encoding, maxResponseBytes) : EMPTY;
    bytesLeft -= Math.max(result.body.length, body?.length ?? 0);
    return body === null ? { fault: 'unreachable' } : { response: result, body };
  };
}

/** Fetches robots.txt. It may be redirected to another origin; the result applies to the origin that was asked. */
async function fetchRobots(ask: Ask, origin: string, until: number): Promise<Buffer | FetchFault | null> {
  let url: string | null = `${origin}/robots.txt`;
  for (let hop = 0; url !== null && hop <= MAX_REDIRECTS; hop += 1) {
    const answer = await ask(url, { maxBytes: MAX_ROBOTS_BYTES, accept: 'text/plain,*/*;q=0.1', until });
    if ('fault' in answer) return answer.fault;
    if (answer.response.statusCode >= 500) return 'robots';
    if (isSuccess(answer.response)) return answer.body;
    url = nextOf(answer.response, url);
  }
  return null;
}

/**
 * Reads the robots.txt of each origin once.
 * @returns why a URL may not be fetched; null if it may be
 */
function createRobots({ reader, deadline }: WebsiteDeps, ask: Ask) {
  const byOrigin = new Map<string, Promise<Robots>>();
  /** Rules that the thread could not read allow nothing. */
  const unread = () => (deadline.aborted ? 'timeout' : 'robots');

  async function read(origin: string, until: number): Promise<Robots> {
    const text = await fetchRobots(ask, origin, until);
    if (text === null) return EVERYTHING;
    if (typeof text === 'string') return text;
    return (await reader.read('robots', { text, agent: ROBOT })) ?? unread();
  }

  return async function robotsFault(url: string, until: number): Promise<FetchFault | null> {
    const { origin } = new URL(url);
    const soon = Math.min(until, performance.now() + ROBOTS_MS);
    const known = byOrigin.get(origin) ?? read(origin, soon);
    byOrigin.set(origin, known);
    const rules = await known;
    if (typeof rules === 'string') return rules;
    if (rules.length === 0) return null;
    const allowed = await reader.read('allowed', { rules: [...rules], url });
    if (allowed === null) return unread();
    return allowed ? null : 'robots';
  };
}

export function openWebsite(deps: WebsiteDeps): Website {
  const { limits } = deps;
  const endsAt = performance.now() + limits.totalMs;
  const ask = createAsk(deps);
  const robotsFault = createRobots(deps, ask);

  return {
    timeLeftMs: () => endsAt - performance.now(),
    async fetch(first, { maxBytes, accept, maxMs = limits.totalMs }) {
      const until = Math.min(endsAt, performance.now() + maxMs);
      let url: string | null = first;
      for (let hop = 0; url !== null && hop <= MAX_REDIRECTS; hop += 1) {
        const fault = await robotsFault(url, until);
        if (fault) return { fault };
        const answer = await ask(url, { maxBytes, accept, until });
        if ('fault' in answer) return answer;
        const { response, body } = answer;
        if (isSuccess(response)) {
          return { url, bytes: body, contentType: headerOf(response, 'content-type') };
        }
        url = nextOf(response, url);
      }
      return { fault: 'unreachable' };
    },
  };
}

function isSuccess({ statusCode }: EgressResponse): boolean {
  return statusCode >= 200 && statusCode < 300;
}

function faultOf({ reason }: EgressFailure): FetchFault {
  return reason === 'timeout' ? 'timeout' : 'unreachable';
}

function headerOf({ headers }: EgressResponse, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** The target of a redirect; null for any other response, or if the target cannot be the URL of a page. */
function nextOf(response: EgressResponse, url: string): string | null {
  if (!REDIRECTS.has(response.statusCode)) return null;
  return webAddress(headerOf(response, 'location') ?? '', url);
}
