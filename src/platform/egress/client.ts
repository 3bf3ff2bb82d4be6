import { LRUCache } from 'lru-cache';
import type { Resolver } from '../dns/resolver.ts';
import { createAddressPolicy } from './addresses.ts';
import { createConnections, type Connections } from './connections.ts';
import { exchangeOver, type EgressResult, type Exchange } from './exchange.ts';
import { createCheckedHosts, type CheckedHost, type CheckedHosts } from './checked-hosts.ts';
import { problem, type EgressProblem, type RefusalReason } from './problem.ts';
import { readTarget, type Target } from './target.ts';

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_RESPONSE_BYTES = 64 * 1024;
/**
 * Maximum number of parsed URLs to remember. A URL longer than the limit below, which may be a redirect of a hostile
 * server, is parsed each time.
 */
const MAX_TARGETS = 5_000;
const MAX_TARGET_LENGTH = 2_000;
const MAX_REDIRECTS = 5;
const REDIRECT_STATUSES = new Set([301, 302, 303, 307, 308]);
/**
 * Headers that are also sent to another origin, as are those that begin with `accept`. Any other header may be a
 * credential.
 */
const FORWARDED_HEADERS = new Set(['user-agent', 'content-type']);

export interface EgressOptions {
  resolver: Resolver;
  /** Private ranges that may be reached, even over plain HTTP: EGRESS_ALLOW, or SCRAPE_ALLOW for scrapes. */
  allow: readonly string[];
  userAgent: string;
  /** Certificates (PEM) to trust instead of the system's, for tests. */
  ca?: string[];
  /** How long the addresses of a name are used without another look-up; 5 s by default. */
  checkedMs?: number;
}

export interface EgressRequest {
  url: string;
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Time limit from the look-up to the last byte of the response; 10 s by default. */
  timeoutMs?: number;
  /** Maximum number of bytes of the response body to read; 64 KiB by default. */
  maxResponseBytes?: number;
  /**
   * Whether the server may receive the request twice. If so, the request is repeated if a pooled connection turns out
   * to be closed. True by default for GET and HEAD.
   */
  repeatable?: boolean;
  /** Number of redirects of a GET or HEAD to follow, at most 5; none by default. Each URL is checked like the first. */
  maxRedirects?: number;
  /** For web pages: plain HTTP is allowed, but only the ports 80 and 443. Addresses in `allow` may have other ports. */
  web?: boolean;
  signal?: AbortSignal;
}

/** The client for all HTTP requests to addresses chosen by users. Its methods never throw. */
export interface Egress {
  /**
   * Checks whether a URL may be requested now. `message` completes the sentence "url …".
   * @param web as in {@link EgressRequest}
   */
  checkUrl(url: string, options?: { web?: boolean }): Promise<{ ok: true } | EgressProblem<RefusalReason>>;
  /** Makes a request. Unless `maxRedirects` is given, a redirect is returned like any other response. */
  request(request: EgressRequest): Promise<EgressResult>;
  close(): Promise<void>;
}

interface Parts {
  hosts: CheckedHosts;
  connections: Connections;
  userAgent: string;
  targets: LRUCache<string, Target>;
}

function targetOf(parts: Parts, url: string): Target | EgressProblem {
  const known = parts.targets.get(url);
  if (known) return known;
  const target = readTarget(url);
  if ('reason' in target) return target;
  if (url.length <= MAX_TARGET_LENGTH) parts.targets.set(url, target);
  return target;
}

function checkedHostFor(
  target: Target,
  verdict: CheckedHost | EgressProblem<RefusalReason>,
  web: boolean,
): CheckedHost | EgressProblem<RefusalReason> {
  if ('reason' in verdict || verdict.allowed) return verdict;
  if (web) return target.hasWebPort ? verdict : problem('port');
  return target.protocol === 'http:' ? problem('scheme') : verdict;
}

/**
 * Sends a request over a pooled connection. A server may close an idle connection at the very moment when it is used; a
 * repeatable request is then sent once more, over a new connection.
 */
async function exchange(
  { connections }: Parts,
  target: Target,
  checked: CheckedHost,
  request: Exchange & { repeatable: boolean },
): Promise<EgressResult> {
  const { result, stale } = await exchangeOver(connections.poolFor(target, checked), target, request);
  if (!stale || !request.repeatable) return result;
  const connection = connections.open(target, checked);
  try {
    return (await exchangeOver(connection, target, request)).result;
  } finally {
    void connection.destroy();
  }
}

async function send(parts: Parts, request: EgressRequest): Promise<EgressResult> {
  const startedAt = performance.now();
  const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const fail = (why: EgressProblem): EgressResult => ({
    ...why,
    statusCode: null,
    sent: false,
    receivedBytes: 0,
    durationMs: Math.round(performance.now() - startedAt),
  });
  const target = targetOf(parts, request.url);
  if ('reason' in target) return fail(target);
  const checked = checkedHostFor(
    target,
    parts.hosts.recall(target.host) ?? (await parts.hosts.resolve(target.host, timeoutMs)),
    request.web ?? false,
  );
  if ('reason' in checked) return fail(checked);
  if (request.signal?.aborted) return fail(problem('canceled'));
  return exchange(parts, target, checked, {
    method: request.method,
    headers: { 'user-agent': parts.userAgent, ...request.headers },
    body: request.body ?? null,
    startedAt,
    deadline: startedAt + timeoutMs,
    maxResponseBytes: request.maxResponseBytes ?? DEFAULT_RESPONSE_BYTES,
    signal: request.signal,
    repeatable: request.repeatable ?? (request.method === 'GET' || request.method === 'HEAD'),
  });
}

/** @throws Error if an entry of `allow` is not an address range */
export function createEgress(options: EgressOptions): Egress {
  const policy = createAddressPolicy(options.allow);
  const parts: Parts = {
    hosts: createCheckedHosts(options.resolver, policy, options.checkedMs),
    connections: createConnections(policy, options.ca),
    userAgent: options.userAgent,
    targets: new LRUCache({ max: MAX_TARGETS }),
  };
  return {
    async checkUrl(url, { web = false } = {}) {
      const target = readTarget(url);
      if ('reason' in target) return target;
      const checked = checkedHostFor(target, await parts.hosts.resolve(target.host, DEFAULT_TIMEOUT_MS), web);
      return 'reason' in checked ? checked : { ok: true };
    },
    request: (request) => (request.maxRedirects ? followRedirects(parts, request) : send(parts, request)),
    close: () => parts.connections.close(),
  };
}

function nextUrl(result: EgressResult, url: string): URL | null {
  if (!result.ok || !REDIRECT_STATUSES.has(result.statusCode)) return null;
  const { location } = result.headers;
  return typeof location === 'string' ? URL.parse(location, url) : null;
}

function isForwarded(header: string): boolean {
  const name = header.toLowerCase();
  return FORWARDED_HEADERS.has(name) || name === 'accept' || name.startsWith('accept-');
}

function headersFor(headers: Record<string, string>, from: string, to: URL): Record<string, string> {
  if (new URL(from).origin === to.origin) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isForwarded(name)));
}

/**
 * Makes a request and follows its redirects if it is a GET or HEAD. Every hop is checked like the first request, from
 * the scheme of its URL to the address of its connection. One deadline covers all hops.
 */
async function followRedirects(parts: Parts, request: EgressRequest): Promise<EgressResult> {
  const startedAt = performance.now();
  const timeoutMs = request.timeoutMs ?? DEFAULT_TIMEOUT_MS;
  const follows = request.method === 'GET' || request.method === 'HEAD';
  const maxRedirects = follows ? Math.min(request.maxRedirects ?? 0, MAX_REDIRECTS) : 0;
  let { url, headers = {} } = request;
  for (let redirects = 0; ; redirects += 1) {
    const leftMs = timeoutMs - (performance.now() - startedAt);
    if (leftMs <= 0) {
      return { ...problem('timeout'), statusCode: null, sent: true, receivedBytes: 0, durationMs: timeoutMs };
    }
    const result = await send(parts, { ...request, url, headers, timeoutMs: leftMs });
    const durationMs = Math.round(performance.now() - startedAt);
    const next = follows ? nextUrl(result, url) : null;
    if (!next) return { ...result, durationMs };
    if (redirects === maxRedirects) {
      return {
        ...problem('redirects'),
        statusCode: result.statusCode,
        sent: true,
        receivedBytes: 0,
        durationMs,
      };
    }
    headers = headersFor(headers, url, next);
    url = next.href;
  }
}
