import type { EgressRequest } from './client.ts';
import type { EgressResult } from './exchange.ts';
import { problem } from './problem.ts';

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
