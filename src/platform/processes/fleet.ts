import type { Logger } from 'pino';
import type { Queryable } from '../db/queryable.ts';

const REFRESH_MS = 3_000;

/** Knows how many `api` processes there are, so that each grants its share of a limit. */
export interface FleetShare {
  /** At least 1. */
  processes(): number;
  /** Counts now instead of within 3 s. */
  refresh(): Promise<void>;
  stop(): void;
}

/** Asks the database every three seconds. While it does not answer, the last count stays valid. */
export function createFleetShare(db: Queryable, log: Logger): FleetShare {
  let live = 1;
  async function refresh(): Promise<void> {
    try {
      const { rows } = await db.query<{ live: number }>(
        `select count(*)::int as live from processes
         where role = 'api' and seen_at > now() - interval '15 seconds'`,
      );
      live = Math.max(1, rows[0]?.live ?? 1);
    } catch (error) {
      log.debug({ err: error }, 'cannot count the live api processes');
    }
  }
  void refresh();
  const timer = setInterval(() => void refresh(), REFRESH_MS).unref();
  return { processes: () => live, refresh, stop: () => clearInterval(timer) };
}
