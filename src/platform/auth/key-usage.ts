import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Queryable } from '../db/queryable.ts';

const FLUSH_MS = 5_000;
const MAX_KEYS = 10_000;
const MIN_INTERVAL_MS = 60_000;

/** Updates `api_keys.last_used_at` in the background, at most once a minute per key. */
export interface KeyUsage {
  used(keyId: number): void;
  /** Writes the pending updates. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/** @param nowMs a monotonic clock */
export function createKeyUsage(
  db: Queryable,
  log: Logger,
  nowMs: () => number = () => performance.now(),
): KeyUsage {
  const writtenAtMs = new LRUCache<number, number>({ max: MAX_KEYS });
  const pending = new Set<number>();

  async function flush(): Promise<void> {
    if (pending.size === 0) return;
    const ids = [...pending];
    pending.clear();
    try {
      await db.query('update api_keys set last_used_at = now() where id = any($1)', [ids]);
    } catch (error) {
      for (const id of ids) writtenAtMs.delete(id);
      log.warn({ err: error }, 'last use of api keys not recorded');
    }
  }

  const timer = setInterval(() => void flush(), FLUSH_MS).unref();
  return {
    used(keyId) {
      const now = nowMs();
      if (now - (writtenAtMs.get(keyId) ?? -Infinity) < MIN_INTERVAL_MS) return;
      writtenAtMs.set(keyId, now);
      pending.add(keyId);
    },
    flush,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}
