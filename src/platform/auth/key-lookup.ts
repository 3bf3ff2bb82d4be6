import { LRUCache } from 'lru-cache';
import { AppError } from '../../errors.ts';
import type { Queryable } from '../db/queryable.ts';
import { type KeyDigest, parseKey } from './api-key.ts';

/** How long an API process accepts a key before it checks the database again. */
export const KEY_LEASE_MS = 1_000;

/** A live API key, reduced to the fields that a request needs. */
export interface LiveKey {
  id: number;
  accountId: number;
  brandId: number;
  test: boolean;
  /** `send`: a send-only key. */
  scope: 'send' | null;
  rateLimitPerSecond: number | null;
}

export interface KeyLookup {
  /**
   * @param text the bearer value that the client sent
   * @returns null if it is not an API key, or the key is unknown or revoked
   * @throws AppError `unavailable` if the database does not answer
   */
  find(text: string): Promise<LiveKey | null>;
}

interface Waiter {
  resolve(key: LiveKey | null): void;
  reject(error: unknown): void;
}

/** The keys to look up with one query, by their text. */
type Lookups = Map<string, KeyDigest & { waiters: Waiter[] }>;

interface KeyRow extends LiveKey {
  digest: Buffer;
}

const MAX_IN_FLIGHT = 2;
/** A hanging connection must not lock out all clients. */
const QUERY_TIMEOUT_MS = 5_000;
const MAX_LEASES = 10_000;

interface Lease {
  key: LiveKey;
  until: number;
}

/**
 * Send-only keys are asked for only if the group has one. Their table is their own, so that a process which does not know
 * them finds no key that it would let do more.
 */
function keysSql(withSendKeys: boolean): string {
  const columns =
    'id, account_id as "accountId", brand_id as "brandId", rate_limit_per_second as "rateLimitPerSecond", digest';
  const keys = `select ${columns}, test, null as scope from api_keys where digest = any($1) and revoked_at is null`;
  return withSendKeys
    ? `${keys} union all select ${columns}, false, 'send' from send_keys where digest = any($2) and revoked_at is null`
    : keys;
}

async function queryKeys(db: Queryable, wanted: readonly KeyDigest[]): Promise<Map<string, LiveKey>> {
  const digestsOf = (isSend: boolean) =>
    wanted.filter(({ kind }) => (kind === 'send') === isSend).map(({ digest }) => digest);
  const sendKeys = digestsOf(true);
  // The driver supports a time-out per query, although its types have only the one per connection.
  const lookUp = {
    text: keysSql(sendKeys.length > 0),
    values: [digestsOf(false), ...(sendKeys.length > 0 ? [sendKeys] : [])],
    query_timeout: QUERY_TIMEOUT_MS,
  };
  const { rows } = await db.query<KeyRow>(lookUp);
  return new Map(rows.map((row) => [row.digest.toString('base64'), row]));
}

/**
 * Looks up the keys of many requests with one query: requests that arrive during a query wait for the next one.
 *
 * A key that was found is accepted for {@link KEY_LEASE_MS} without another query. `revokeApiKey` returns only after
 * every lease has ended, so no request is accepted after the revocation is confirmed.
 * @param clock monotonic, in milliseconds
 */
export function createKeyLookup(db: Queryable, clock: () => number = () => performance.now()): KeyLookup {
  /** By the key's text, so that a leased key is neither parsed nor hashed again. */
  const leases = new LRUCache<string, Lease>({ max: MAX_LEASES });
  let waiting: Lookups = new Map();
  let inFlight = 0;

  async function run(lookups: Lookups): Promise<void> {
    const entries = [...lookups];
    // A lease starts before the query: a key may be revoked while the result is on its way.
    const until = clock() + KEY_LEASE_MS;
    try {
      const found = await queryKeys(
        db,
        entries.map(([, wanted]) => wanted),
      );
      for (const [text, { digest, waiters }] of entries) {
        const key = found.get(digest.toString('base64')) ?? null;
        if (key) leases.set(text, { key, until });
        else leases.delete(text);
        for (const waiter of waiters) waiter.resolve(key);
      }
    } catch (cause) {
      const error = new AppError('unavailable', 'the key cannot be checked right now; try again', { cause });
      for (const [, { waiters }] of entries) for (const waiter of waiters) waiter.reject(error);
    }
  }

  function flush(): void {
    if (inFlight >= MAX_IN_FLIGHT || waiting.size === 0) return;
    const lookups = waiting;
    waiting = new Map();
    inFlight += 1;
    void run(lookups).then(() => {
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
        else waiting.set(text, { ...parsed, waiters: [{ resolve, reject }] });
        // Wait for the end of this event-loop turn: requests that were read together share one query.
        if (waiting.size === 1 && !entry) setImmediate(flush);
      });
    },
  };
}
