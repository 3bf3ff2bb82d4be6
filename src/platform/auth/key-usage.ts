import type { Logger } from 'pino';
import type { Queryable } from '../db/queryable.ts';

const FLUSH_MS = 5_000;
const ONCE_PER_MS = 60_000;

/** Keeps `api_keys.last_used_at` true to the minute, away from the requests themselves. */
export interface KeyUsage {
  used(keyId: number): void;
  /** Write what is not written yet. */
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/** @param nowMs a clock that only goes forward */
export function createKeyUsage(
  db: Queryable,
  log: Logger,
  nowMs: () => number = () => performance.now(),
): KeyUsage {
  const writtenAtMs = new Map<number, number>();
  const pending = new Set<number>();

  async function flush(): Promise<void> {
    if (pending.size === 0) return;
    const ids = [...pending];
    pending.clear();
    try {
      await db.query('update api_keys set last_used_at = now() where id = any($1)', [ids]);
    } catch (error) {
      for (const id of ids) writtenAtMs.delete(id);
      log.warn({ err: error }, 'last use of api keys not written');
    }
  }

  const timer = setInterval(() => void flush(), FLUSH_MS).unref();
  return {
    used(keyId) {
      const now = nowMs();
      if (now - (writtenAtMs.get(keyId) ?? -Infinity) < ONCE_PER_MS) return;
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
