import type pg from 'pg';
import type { Logger } from 'pino';
import type { Queryable } from '../../platform/db/queryable.ts';

/** After this time, the next request refreshes the list, without waiting for it. */
const FRESH_MS = 3_000;
/** After this time, requests wait for the refresh. */
const MAX_AGE_MS = 10_000;
const MAX_WAIT_MS = 1_000;

async function readPaused(client: Queryable): Promise<ReadonlySet<number>> {
  const { rows } = await client.query<{ id: number }>(
    `select id from accounts where sending_paused_at is not null and sending_paused_by is distinct from 'brakes'`,
  );
  return new Set(rows.map(({ id }) => id));
}

/**
 * Caches which accounts an operator has paused, because their links do not work. A pause by the brakes does not affect
 * links, because reports by strangers can contribute to it. All requests within three seconds share one query, and
 * while the database is unavailable, the last known result is used.
 * @returns a function that says whether an account is paused
 */
export function createSuspendedAccounts(pool: pg.Pool, log: Logger): (accountId: number) => Promise<boolean> {
  let paused: ReadonlySet<number> = new Set();
  let readAt = -Infinity;
  let reading: Promise<void> | null = null;

  function read(): Promise<void> {
    reading ??= readPaused(pool)
      .then(
        (ids) => {
          paused = ids;
          readAt = performance.now();
        },
        (error: unknown) => {
          // Retry in three seconds, instead of with each request.
          readAt = performance.now() - MAX_AGE_MS + FRESH_MS;
          log.warn({ err: error }, 'paused accounts could not be read');
        },
      )
      .finally(() => (reading = null));
    return reading;
  }

  return async (accountId) => {
    const age = performance.now() - readAt;
    if (age > FRESH_MS) {
      const done = read();
      if (age > MAX_AGE_MS) {
        let timer: NodeJS.Timeout | undefined;
        await Promise.race([done, new Promise((resolve) => (timer = setTimeout(resolve, MAX_WAIT_MS)))]);
        clearTimeout(timer);
      }
    }
    return paused.has(accountId);
  };
}
