import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { inject, type Response } from 'light-my-request';
import { AppError } from '../../errors.ts';
import type { Authenticate, Principal } from '../auth/tenant.ts';
import { CountedRequest } from './counted-request.ts';
import type { HttpMethod } from './route.ts';

export interface InnerRequest {
  method: HttpMethod;
  /** With the query string. */
  path: string;
  /** With lower-case names. */
  headers: Record<string, string>;
  /** JSON, unless `content-type` names another format; null for none. */
  body: string | null;
}

export interface InnerResponse {
  status: number;
  headers: OutgoingHttpHeaders;
  body: string;
}

/** What an inner request takes over from the request that causes it. */
export interface OuterRequest {
  /** The client's address, for the audit log. */
  address: string;
  /** Ends the request; the route may have done its work by then. */
  signal: AbortSignal;
}

/** Requests to routes of this process, which pass through all their middlewares except the sign-in. */
export interface InnerRequests {
  /** @param answer of the app that serves the routes; call this once, before any request */
  connect(answer: RequestListener): void;
  /** Lets inner requests pass as their principal; all others are authenticated by their headers. */
  admit(authenticate: Authenticate): Authenticate;
  /**
   * Sends a request as a principal.
   * @throws AppError `payload_too_large` if the response has more than {@link MAX_RESPONSE_BYTES}; the signal's reason
   */
  request(request: InnerRequest, principal: Principal, outer: OuterRequest): Promise<InnerResponse>;
}

/** What a client of MCP can use in one result, and a process keep in memory for many. */
export const MAX_RESPONSE_BYTES = 2 * 1024 * 1024;

function tooLarge(): AppError {
  return new AppError(
    'payload_too_large',
    `the response has more than ${MAX_RESPONSE_BYTES} bytes; ask for fewer items with limit, or for one by its id`,
  );
}

/** Makes the request one whose body the routes can read. Its whole body has arrived. */
function countedCopy(injected: IncomingMessage, body: string | null): CountedRequest {
  const request = new CountedRequest(injected.socket);
  Object.assign(request, {
    method: injected.method,
    url: injected.url,
    headers: injected.headers,
    httpVersion: '1.1',
    httpVersionMajor: 1,
    httpVersionMinor: 1,
    complete: true,
  });
  if (body !== null) request.push(Buffer.from(body));
  request.push(null);
  return request;
}

async function readResponse(response: Response, signal: AbortSignal): Promise<string> {
  const { res } = response.raw as { res: ServerResponse };
  const stream = response.stream();
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const piece of stream as AsyncIterable<Buffer>) {
      signal.throwIfAborted();
      bytes += piece.length;
      if (bytes > MAX_RESPONSE_BYTES) throw tooLarge();
      pieces.push(piece);
    }
  } finally {
    // Ends a body that is still being written.
    res.destroy();
  }
  return Buffer.concat(pieces).toString('utf8');
}

/** @throws the signal's reason, as soon as it is aborted */
async function raceAbort<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason as Error);
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([run(), promise]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

export function createInnerRequests(): InnerRequests {
  /** A property or header could be forged or lost; no client can have an entry here. */
  const principals = new WeakMap<object, Principal>();
  let listener: RequestListener | null = null;

  return {
    connect(answer) {
      listener = answer;
    },
    admit: (authenticate) => async (request, auth) => {
      const principal = principals.get(request);
      if (!principal) return authenticate(request, auth);
      if (auth === 'account' || auth === 'brand') return principal;
      throw new AppError('forbidden', 'this is not for assistants');
    },
    async request({ method, path, headers, body }, principal, { address, signal }) {
      const answer = listener;
      if (!answer) throw new Error('connect comes before the first inner request');
      signal.throwIfAborted();
      const responding = inject(
        (injected, response) => {
          const request = countedCopy(injected, body);
          principals.set(request, principal);
          answer(request, response);
        },
        {
          method,
          url: path,
          headers: {
            ...(body === null
              ? {}
              : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
            ...headers,
          },
          remoteAddress: address,
          payloadAsStream: true,
          validate: false,
        },
      );
      return raceAbort(signal, async () => {
        const response = await responding;
        return {
          status: response.statusCode,
          headers: response.headers,
          body: await readResponse(response, signal),
        };
      });
    },
  };
}
