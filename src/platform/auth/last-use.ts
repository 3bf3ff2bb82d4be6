import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { Queryable } from '../db/queryable.ts';

const FLUSH_MS = 5_000;
const MAX_KEPT = 10_000;
const MIN_INTERVAL_MS = 60_000;

/** Updates `last_used_at` of keys or sessions in the background, at most once a minute each. */
export interface LastUses {
  used(id: number): void;
  /** Writes the pending updates. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * @param tables those that the ids are of; an id is in one of them only
 * @param nowMs a monotonic clock
 */
export function createLastUses(
  db: Queryable,
  tables: readonly ('api_keys' | 'send_keys' | 'sessions')[],
  log: Logger,
  nowMs: () => number = () => performance.now(),
): LastUses {
  const writtenAtMs = new LRUCache<number, number>({ max: MAX_KEPT });
  const pending = new Set<number>();

  async function flush(): Promise<void> {
    if (pending.size === 0) return;
    const ids = [...pending];
    pending.clear();
    try {
      for (const table of tables) {
        await db.query(`update ${table} set last_used_at = now() where id = any($1)`, [ids]);
      }
    } catch (error) {
      for (const id of ids) writtenAtMs.delete(id);
      log.warn({ err: error, tables }, 'last use not recorded');
    }
  }

  const timer = setInterval(() => void flush(), FLUSH_MS).unref();
  return {
    used(id) {
      const now = nowMs();
      if (now - (writtenAtMs.get(id) ?? -Infinity) < MIN_INTERVAL_MS) return;
      writtenAtMs.set(id, now);
      pending.add(id);
    },
    flush,
    async stop() {
      clearInterval(timer);
      await flush();
    },
  };
}
