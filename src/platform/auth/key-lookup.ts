import { AppError } from '../../errors.ts';
import type { Queryable } from '../db/queryable.ts';
import { parseKey } from './api-key.ts';

/** A live API key, as far as a request needs it. */
export interface LiveKey {
  id: number;
  accountId: number;
  brandId: number;
  test: boolean;
  rateLimitPerSecond: number | null;
}

export interface KeyLookup {
  /**
   * @param text what the client sent as its key
   * @returns null where it is no key, unknown or revoked
   * @throws AppError unavailable where the database does not answer
   */
  find(text: string): Promise<LiveKey | null>;
}

interface Waiter {
  resolve(key: LiveKey | null): void;
  reject(error: unknown): void;
}

type Batch = Map<string, { digest: Buffer; waiters: Waiter[] }>;

interface KeyRow extends LiveKey {
  digest: Buffer;
}

/** How long an API process may accept a key without looking it up again. */
export const KEY_LEASE_MS = 1_000;
const MAX_IN_FLIGHT = 2;
/** A connection that says nothing must not keep everybody out. */
const QUERY_TIMEOUT_MS = 5_000;
const MOST_LEASES = 10_000;

interface Lease {
  key: LiveKey;
  until: number;
}

async function queryKeys(db: Queryable, digests: Buffer[]): Promise<Map<string, LiveKey>> {
  // The driver knows a query's own time-out; its types know only the connection's.
  const lookUp = {
    text: `select id, account_id as "accountId", brand_id as "brandId", test,
       rate_limit_per_second as "rateLimitPerSecond", digest
     from api_keys where digest = any($1) and revoked_at is null`,
    values: [digests],
    query_timeout: QUERY_TIMEOUT_MS,
  };
  const { rows } = await db.query<KeyRow>(lookUp);
  return new Map(rows.map((row) => [row.digest.toString('base64'), row]));
}

/**
 * Looks keys up, many requests with one query: those that arrive while one is under way wait for the next.
 * A key found is good for a lease of {@link KEY_LEASE_MS}; revoking is answered when every lease has run out, so
 * that no request is let in after it was.
 * @param clock milliseconds that only go forward
 */
export function createKeyLookup(db: Queryable, clock: () => number = () => performance.now()): KeyLookup {
  /** By the key's own text: a leased one is neither parsed nor digested again. */
  const leases = new Map<string, Lease>();
  let waiting: Batch = new Map();
  let inFlight = 0;

  async function run(batch: Batch): Promise<void> {
    const entries = [...batch];
    const until = clock() + KEY_LEASE_MS;
    if (leases.size > MOST_LEASES) leases.clear();
    try {
      const found = await queryKeys(
        db,
        entries.map(([, { digest }]) => digest),
      );
      for (const [text, { digest, waiters }] of entries) {
        const key = found.get(digest.toString('base64')) ?? null;
        if (key) leases.set(text, { key, until });
        else leases.delete(text);
        for (const waiter of waiters) waiter.resolve(key);
      }
    } catch (cause) {
      const error = new AppError('unavailable', 'the key cannot be checked just now; try again', { cause });
      for (const [, { waiters }] of entries) for (const waiter of waiters) waiter.reject(error);
    }
  }

  function flush(): void {
    if (inFlight >= MAX_IN_FLIGHT || waiting.size === 0) return;
    const batch = waiting;
    waiting = new Map();
    inFlight += 1;
    void run(batch).then(() => {
      inFlight -= 1;
      flush();
    });
  }

  return {
    find(text) {
      const lease = leases.get(text);
      if (lease && clock() < lease.until) return Promise.resolve(lease.key);
      const parsed = parseKey(text);
      if (!parsed) return Promise.resolve(null);
      return new Promise((resolve, reject) => {
        const entry = waiting.get(text);
        if (entry) entry.waiters.push({ resolve, reject });
        else waiting.set(text, { digest: parsed.digest, waiters: [{ resolve, reject }] });
        // After this turn of the event loop, so that requests read together are asked about together.
        if (waiting.size === 1 && !entry) setImmediate(flush);
      });
    },
  };
}
