import type { Logger } from 'pino';
import type { Queryable } from '../db/queryable.ts';

const REFRESH_MS = 3_000;

/** SQL over `processes`: whether a process has been seen so lately that it counts as running. */
export const SEEN_SQL = `seen_at > now() - interval '15 seconds'`;

/**
 * Knows how many processes of a role, or of several, there are, so that each can take its share of a limit that holds for all of them.
 */
export interface FleetShare {
  /** At least 1. */
  processes(): number;
  /**
   * Splits a whole number among the processes: the shares add up to the whole, except that each is at least 1.
   * @param turn any number; it decides which processes get the larger shares, if the number does not divide evenly
   */
  share(whole: number, turn: number): number;
  /** Counts the processes now instead of within 3 s. */
  refresh(): Promise<void>;
  stop(): void;
}

/**
 * Queries the database every three seconds. While the database is unavailable, the last count stays valid.
 * @param self this process's id
 */
export function createFleetShare(
  db: Queryable,
  log: Logger,
  roles: string | readonly string[] = 'api',
  self: () => number | null = () => null,
): FleetShare {
  let live = 1;
  let rank = 0;
  async function refresh(): Promise<void> {
    try {
      const { rows } = await db.query<{ live: number; rank: number }>(
        `select count(*)::int as live, (count(*) filter (where id < $2))::int as rank from processes
         where role = any($1) and ${SEEN_SQL}`,
        [[roles].flat(), self()],
      );
      live = Math.max(1, rows[0]?.live ?? 1);
      rank = rows[0]?.rank ?? 0;
    } catch (error) {
      log.debug({ err: error, roles }, 'cannot count the live processes');
    }
  }
  const first = refresh();
  const timer = setInterval(() => void refresh(), REFRESH_MS).unref();
  return {
    processes: () => live,
    share(whole, turn) {
      const oneMore = (rank + turn) % live < whole % live ? 1 : 0;
      return Math.max(1, Math.floor(whole / live) + oneMore);
    },
    refresh: () => first.then(refresh),
    stop: () => clearInterval(timer),
  };
}
