import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { inject } from 'light-my-request';
import { LRUCache } from 'lru-cache';
import type { Provider } from 'oidc-provider';
import { createProvider, type ProviderDeps, SESSION_COOKIE } from './provider.ts';
import { currentOAuthRequest } from './oauth-request.ts';

/** Without PUBLIC_URL, this machine has several names and any number of ports. */
const MAX_PROVIDERS = 8;
/** All that the library needs of a request. `Origin` is left out, because our routes decide about other sites. */
const PASSED_HEADERS = ['accept', 'authorization', 'content-type', 'cookie'] as const;

/** A request to the library. */
export interface ProviderRequest {
  method: 'GET' | 'POST';
  /** With the query. */
  path: string;
  headers: IncomingHttpHeaders;
  body?: Buffer | string;
}

export interface ProviderAnswer {
  status: number;
  headers: Record<string, string | string[]>;
  body: Buffer;
}

export interface Providers {
  of(issuer: string): Provider;
  /**
   * Lets the library answer a request. Call this within `withOAuthRequest`.
   * @throws the error behind a `server_error`, such as that of a lost database
   */
  answer(issuer: string, request: ProviderRequest): Promise<ProviderAnswer>;
}

const LEFT_OUT = new Set(['connection', 'content-length', 'date', 'keep-alive', 'transfer-encoding']);

function headersOf(given: OutgoingHttpHeaders): ProviderAnswer['headers'] {
  const headers: ProviderAnswer['headers'] = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || LEFT_OUT.has(name)) continue;
    if (name !== 'set-cookie') {
      headers[name] = String(value);
      continue;
    }
    const cookies = [value].flat().map(String);
    headers[name] = cookies.filter((cookie) => !cookie.startsWith(SESSION_COOKIE));
  }
  return headers;
}

export function createProviders(deps: ProviderDeps): Providers {
  const providers = new LRUCache<string, Provider>({ max: MAX_PROVIDERS });

  function providerOf(issuer: string): Provider {
    let found = providers.get(issuer);
    if (!found) providers.set(issuer, (found = createProvider(issuer, deps)));
    return found;
  }

  return {
    of: providerOf,
    async answer(issuer, { method, path, headers, body }) {
      const { host, protocol } = new URL(issuer);
      const passed = Object.fromEntries(
        PASSED_HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
      );
      const handle = providerOf(issuer).callback();
      const response = await inject((request, answer) => void handle(request, answer), {
        method,
        url: path,
        headers: { ...passed, host, 'x-forwarded-proto': protocol.slice(0, -1) },
        ...(body === undefined ? {} : { payload: body }),
      });
      const { failure } = currentOAuthRequest();
      if (failure !== undefined) throw failure;
      return {
        status: response.statusCode,
        headers: headersOf(response.headers),
        body: response.rawPayload,
      };
    },
  };
}
