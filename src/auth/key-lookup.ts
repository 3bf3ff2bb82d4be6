import type { Queryable } from '../db/queryable.ts';

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
   * @param digest SHA-256 of the key
   * @returns null where it is unknown or revoked
   */
  find(digest: Buffer): Promise<LiveKey | null>;
}

interface Waiter {
  resolve(key: LiveKey | null): void;
  reject(error: unknown): void;
}

type Batch = Map<string, { digest: Buffer; waiters: Waiter[] }>;

interface KeyRow extends LiveKey {
  digest: Buffer;
}

const MAX_IN_FLIGHT = 2;

async function queryKeys(db: Queryable, digests: Buffer[]): Promise<Map<string, LiveKey>> {
  const { rows } = await db.query<KeyRow>(
    `select id, account_id as "accountId", brand_id as "brandId", test,
       rate_limit_per_second as "rateLimitPerSecond", digest
     from api_keys where digest = any($1) and revoked_at is null`,
    [digests],
  );
  return new Map(rows.map((row) => [row.digest.toString('base64'), row]));
}

/**
 * Looks keys up at every request, yet many requests share a query: those that arrive while one is under way
 * wait for the next. Nothing is remembered between queries, so that a revoked key is refused at once.
 */
export function createKeyLookup(db: Queryable): KeyLookup {
  let waiting: Batch = new Map();
  let inFlight = 0;

  async function run(batch: Batch): Promise<void> {
    const entries = [...batch];
    try {
      const found = await queryKeys(
        db,
        entries.map(([, { digest }]) => digest),
      );
      for (const [name, { waiters }] of entries) {
        for (const waiter of waiters) waiter.resolve(found.get(name) ?? null);
      }
    } catch (error) {
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
    find(digest) {
      return new Promise((resolve, reject) => {
        const name = digest.toString('base64');
        const entry = waiting.get(name);
        if (entry) entry.waiters.push({ resolve, reject });
        else waiting.set(name, { digest, waiters: [{ resolve, reject }] });
        // After this turn of the event loop, so that requests read together are asked about together.
        if (waiting.size === 1 && !entry) setImmediate(flush);
      });
    },
  };
}
