import { LRUCache } from 'lru-cache';
import type { Egress } from '../../platform/egress/client.ts';
import type { RateLimiter } from '../../platform/http/rate-limiter.ts';
import { cleanDocument } from './client-metadata.ts';
import { currentOAuthRequest } from './oauth-request.ts';

const MAX_BYTES = 5 * 1024;
const TIMEOUT_MS = 5_000;
const FAILURE_MS = 60_000;
const MAX_FAILURES = 1_000;
const MAX_URL = 500;

/** The documents in which clients describe themselves, and whose URLs are their ids. */
export interface ClientDocuments {
  /** Whether the document may be requested now: for a browser, within the limits, and not after a recent failure. */
  mayFetch(clientId: string): boolean;
  /** @returns the document, without what we do not use. @throws Error unless it can be used */
  fetch(clientId: string): Promise<Response>;
}

/** Only their paths distinguish the documents of a host. The address of the host is checked when it is requested. */
function isDocumentUrl(clientId: string): boolean {
  const url = clientId.length <= MAX_URL ? URL.parse(clientId) : null;
  return url?.protocol === 'https:' && url.username === '' && url.pathname !== '/' && url.href === clientId;
}

/** How long the library keeps the document. */
const cachingOf = (headers: Readonly<Record<string, string | string[] | undefined>>) =>
  typeof headers['cache-control'] === 'string' ? { 'cache-control': headers['cache-control'] } : {};

/** @param egress refuses addresses that are not public, and follows no redirect */
export function createClientDocuments(egress: Egress, rateLimiter: RateLimiter): ClientDocuments {
  const failures = new LRUCache<string, true>({ max: MAX_FAILURES, ttl: FAILURE_MS });

  async function request(url: string): Promise<Response> {
    const result = await egress.request({
      url,
      method: 'GET',
      headers: { accept: 'application/json' },
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_BYTES,
      // With https, this leaves only port 443.
      web: true,
    });
    if (!result.ok) throw new Error(`no document: ${result.reason}`);
    if (result.statusCode !== 200 || result.truncated) {
      throw new Error(`no document: status ${result.statusCode}${result.truncated ? ', too long' : ''}`);
    }
    const document = cleanDocument(url, result.body.toString('utf8'));
    return Response.json(document, { headers: cachingOf(result.headers) });
  }

  return {
    mayFetch(clientId) {
      const { isBrowser, network } = currentOAuthRequest();
      if (!isBrowser || !isDocumentUrl(clientId) || failures.has(clientId)) return false;
      rateLimiter.program('client document', network);
      return true;
    },
    async fetch(clientId) {
      try {
        if (!isDocumentUrl(clientId)) throw new Error('not the URL of a document');
        return await request(clientId);
      } catch (error) {
        failures.set(clientId, true);
        throw error;
      }
    },
  };
}
