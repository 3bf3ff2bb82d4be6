import { AsyncLocalStorage } from 'node:async_hooks';
import type { Queryable } from '../../platform/db/queryable.ts';

/** What the callbacks of the OAuth library need to know about the request that it answers. */
export interface Surroundings {
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

/** The library passes nothing of ours to its storage, so that the request is found by the asynchronous context. */
const current = new AsyncLocalStorage<Surroundings>();

export const withSurroundings = <T>(surroundings: Surroundings, work: () => Promise<T>): Promise<T> =>
  current.run(surroundings, work);

/** @throws Error outside of {@link withSurroundings} */
export function surroundings(): Surroundings {
  const found = current.getStore();
  if (!found) throw new Error('the OAuth library runs within withSurroundings');
  return found;
}
