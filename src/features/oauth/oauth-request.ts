import { AsyncLocalStorage } from 'node:async_hooks';
import type { Queryable } from '../../platform/db/queryable.ts';

/** What the callbacks of the OAuth library need to know about the request that it answers. */
export interface OAuthRequest {
  /** The pool, or the client of the request's transaction. */
  db: Queryable;
  /** Whether a browser asks, which needs to know where its codes may go; otherwise a program, with its code or token. */
  isBrowser: boolean;
  /** The user whose session the browser's cookie proves; null: none. */
  userId: number | null;
  /** The network of the client, for limits. */
  network: string;
  /** The error behind a `server_error` that the library answered. */
  failure?: Error;
}

/** The library passes nothing from its callers to its storage, which therefore finds the request in the asynchronous context. */
const current = new AsyncLocalStorage<OAuthRequest>();

export const withOAuthRequest = <T>(request: OAuthRequest, work: () => Promise<T>): Promise<T> =>
  current.run(request, work);

/** @throws Error outside of {@link withOAuthRequest} */
export function currentOAuthRequest(): OAuthRequest {
  const found = current.getStore();
  if (!found) throw new Error('the OAuth library runs within withOAuthRequest');
  return found;
}
