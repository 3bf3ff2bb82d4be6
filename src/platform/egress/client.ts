import type { Resolver } from '../dns/resolver.ts';
import { createAddressPolicy } from './addresses.ts';
import { createConnections, type Connections } from './connections.ts';
import { exchangeOver, type EgressResult, type Exchange } from './exchange.ts';
import { createPins, type Pin, type Pins } from './pins.ts';
import { problem, type EgressProblem, type RefusalReason } from './problem.ts';
import { readTarget, type Target } from './target.ts';

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_RESPONSE_BYTES = 64 * 1024;
const MOST_TARGETS = 5_000;

export interface EgressOptions {
  resolver: Resolver;
  /** EGRESS_ALLOW: ranges that may be reached although private, and over plain HTTP too. */
  allow: readonly string[];
  userAgent: string;
  /** Certificates (PEM) to trust instead of the system's; for tests. */
  ca?: string[];
  /** How long a name's addresses are used without asking again; 5 s. */
  pinMs?: number;
}

export interface EgressRequest {
  url: string;
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** For everything: the name, the connection, the answer's last byte. 10 s. */
  timeoutMs?: number;
  /** What is read of the answer's body; 64 KiB. */
  maxResponseBytes?: number;
  /**
   * Whether the other side may get it twice: then it is made again where a kept connection turns out to be closed.
   * True for GET and HEAD.
   */
  repeatable?: boolean;
  /** How many redirects of a GET or HEAD are followed, at most 5: each is judged like a URL of its own. None. */
  maxRedirects?: number;
  signal?: AbortSignal;
}

/** The one client for every HTTP request to an address that a user chose. Nothing here throws. */
export interface Egress {
  /** Whether a URL may be called now; `message` completes the sentence "url …". */
  checkUrl(url: string): Promise<{ ok: true } | EgressProblem<RefusalReason>>;
  /** Redirects are answers like any other, unless `maxRedirects` is given. */
  request(request: EgressRequest): Promise<EgressResult>;
  close(): Promise<void>;
}

interface Parts {
  pins: Pins;
  connections: Connections;
  userAgent: string;
  targets: Map<string, Target>;
}

function targetOf(parts: Parts, url: string): Target | EgressProblem {
  const known = parts.targets.get(url);
  if (known) return known;
  const target = readTarget(url);
  if ('reason' in target) return target;
  if (parts.targets.size >= MOST_TARGETS) parts.targets.clear();
  parts.targets.set(url, target);
  return target;
}

function pinFor(
  target: Target,
  verdict: Pin | EgressProblem<RefusalReason>,
): Pin | EgressProblem<RefusalReason> {
  if ('reason' in verdict) return verdict;
  return target.protocol === 'http:' && !verdict.allowed ? problem('scheme') : verdict;
}

/**
 * A server may close a connection that it kept for a while at the very moment when we use it. What may be repeated
 * is then sent once more, on a new one.
 */
async function exchange(
  { connections }: Parts,
  target: Target,
  pin: Pin,
  request: Exchange & { repeatable: boolean },
): Promise<EgressResult> {
  const { result, stale } = await exchangeOver(connections.poolFor(target, pin), target, request);
  if (!stale || !request.repeatable) return result;
  const connection = connections.open(target, pin);
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
    durationMs: Math.round(performance.now() - startedAt),
  });
  const target = targetOf(parts, request.url);
  if ('reason' in target) return fail(target);
  const pin = pinFor(
    target,
    parts.pins.recall(target.host) ?? (await parts.pins.resolve(target.host, timeoutMs)),
  );
  if ('reason' in pin) return fail(pin);
  if (request.signal?.aborted) return fail(problem('canceled'));
  return exchange(parts, target, pin, {
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

/** @throws Error where an entry of `allow` is no address range */
export function createEgress(options: EgressOptions): Egress {
  const policy = createAddressPolicy(options.allow);
  const parts: Parts = {
    pins: createPins(options.resolver, policy, options.pinMs),
    connections: createConnections(policy, options.ca),
    userAgent: options.userAgent,
    targets: new Map(),
  };
  return {
    async checkUrl(url) {
      const target = readTarget(url);
      if ('reason' in target) return target;
      const pin = pinFor(target, await parts.pins.resolve(target.host, DEFAULT_TIMEOUT_MS));
      return 'reason' in pin ? pin : { ok: true };
    },
    request: (request) =>
      request.maxRedirects
        ? followRedirects(request, DEFAULT_TIMEOUT_MS, (each) => send(parts, each))
        : send(parts, request),
    close: () => parts.connections.close(),
  };
}

const MOST_REDIRECTS = 5;
const STATUSES = new Set([301, 302, 303, 307, 308]);
/** What another origin is told, too, beside `accept` and its like: any other header may be a credential. */
const OPEN_HEADERS = new Set(['user-agent', 'content-type']);

function nextUrl(result: EgressResult, url: string): URL | null {
  if (!result.ok || !STATUSES.has(result.statusCode)) return null;
  const { location } = result.headers;
  return typeof location === 'string' ? URL.parse(location, url) : null;
}

function isOpen(header: string): boolean {
  const name = header.toLowerCase();
  return OPEN_HEADERS.has(name) || name === 'accept' || name.startsWith('accept-');
}

function headersFor(headers: Record<string, string>, from: string, to: URL): Record<string, string> {
  if (new URL(from).origin === to.origin) return headers;
  return Object.fromEntries(Object.entries(headers).filter(([name]) => isOpen(name)));
}

/**
 * Make a GET or HEAD, and again where its answer leads to: every hop is a request of its own, judged from the URL's
 * scheme to the address of its connection. One deadline covers them all.
 * @param send makes one request
 */
export async function followRedirects(
  request: EgressRequest,
  defaultTimeoutMs: number,
  send: (request: EgressRequest) => Promise<EgressResult>,
): Promise<EgressResult> {
  const startedAt = performance.now();
  const timeoutMs = request.timeoutMs ?? defaultTimeoutMs;
  const follows = request.method === 'GET' || request.method === 'HEAD';
  const most = follows ? Math.min(request.maxRedirects ?? 0, MOST_REDIRECTS) : 0;
  let { url, headers = {} } = request;
  for (let redirects = 0; ; redirects += 1) {
    const leftMs = timeoutMs - (performance.now() - startedAt);
    if (leftMs <= 0) return { ...problem('timeout'), statusCode: null, durationMs: timeoutMs };
    const result = await send({ ...request, url, headers, timeoutMs: leftMs });
    const durationMs = Math.round(performance.now() - startedAt);
    const next = follows ? nextUrl(result, url) : null;
    if (!next) return { ...result, durationMs };
    if (redirects === most) return { ...problem('redirects'), statusCode: result.statusCode, durationMs };
    headers = headersFor(headers, url, next);
    url = next.href;
  }
}
