import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { ConfigError } from '../../config.ts';
import { connectionProblem } from './connection-problem.ts';
import { isConnectionError } from './queryable.ts';

const RETRY_MS = 1_000;
const LOG_INTERVAL_MS = 30_000;
const TOO_MANY_CONNECTIONS = '53300';

function isUnavailable(error: unknown): boolean {
  return isConnectionError(error) || (error as { code?: string }).code === TOO_MANY_CONNECTIONS;
}

/** Settings are wrong, or the error itself: a bug. */
function explained(error: unknown, url: string): unknown {
  const problem = connectionProblem(error, url);
  return problem === null ? error : new ConfigError(problem, { cause: error });
}

/** Runs one step of a role's start, and repeats it while the database is unavailable. */
export type WhenAvailable = <T>(step: () => Promise<T>) => Promise<T>;

/**
 * Runs the steps of a role's start that need the database. The database may start later than the role, or restart in
 * between. Logs one line, repeated every 30 s while the database stays unavailable.
 * @param url of the database
 * @returns a function that throws the errors of a step unless the database is unavailable; ConfigError: settings are wrong
 */
export function createDatabaseWait(url: string, log: Logger): WhenAvailable {
  const { hostname = '', port = '' } = URL.parse(url) ?? {};
  const database = hostname ? `PostgreSQL at ${hostname}:${port || 5432}` : 'PostgreSQL';
  let loggedAt: number | null = null;

  function logUnavailable(error: unknown): void {
    const now = performance.now();
    if (loggedAt !== null && now - loggedAt < LOG_INTERVAL_MS) return;
    loggedAt = now;
    const { message, code } = error as Error & { code?: string };
    log.warn(`${database} is unavailable (${message || code}): waiting for it`);
  }

  return async (step) => {
    for (;;) {
      try {
        return await step();
      } catch (error) {
        if (!isUnavailable(error)) throw explained(error, url);
        logUnavailable(error);
        await sleep(RETRY_MS);
      }
    }
  };
}
