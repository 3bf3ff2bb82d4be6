import type { LoggerOptions } from 'pino';
import { isConnectionError } from './platform/db/queryable.ts';

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;
type Facts = Record<string, unknown>;

const WARN = 40;
/** A line is repeated only after this time. */
const INTERVAL_MS = 30_000;
/** The lines that are remembered. Beyond them, all are forgotten. */
const MAX_LINES = 1_000;
/** Facts that differ between lines about the same failure. */
const PASSING_FACTS = new Set(['err', 'request_id', 'duration_ms', 'items', 'claims']);

/** gRPC's code for an engine that is unavailable. */
const UNAVAILABLE = 14;

interface Seen {
  loggedAt: number;
  /** How often it was left out since then. */
  repeats: number;
}

function isUnavailable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return (error as { code?: unknown }).code === UNAVAILABLE || isConnectionError(error);
}

/** What lines about the same failure have in common. */
function keyOf(facts: Facts, message: unknown): string {
  return JSON.stringify([message, Object.entries(facts).filter(([name]) => !PASSING_FACTS.has(name))]);
}

/** The error's message; that of a host with several addresses has only a code. */
function reasonOf(error: Error): string {
  return error.message || (error as { code?: string }).code || error.name;
}

/**
 * Creates a hook for a log that keeps it readable while the database, the engine or another server is unavailable, when every loop
 * and request fails again and again. A warning or error whose `err` is a lost or refused connection is logged with its
 * `reason` instead of the stack, which says only where our code noticed, and again only after 30 s. The next line then says
 * in `repeats` how often it was left out. Lines about other failures, or other ids, are not touched.
 * @param now in milliseconds, of a monotonic clock
 */
export function foldRepeats(now: () => number = () => performance.now()): LogMethod {
  const seen = new Map<string, Seen>();

  /** @returns how often the line was left out before, or null if it is to be left out, too */
  function take(key: string): number | null {
    const last = seen.get(key);
    if (last && now() - last.loggedAt < INTERVAL_MS) {
      last.repeats += 1;
      return null;
    }
    if (seen.size >= MAX_LINES) seen.clear();
    seen.set(key, { loggedAt: now(), repeats: 0 });
    return last?.repeats ?? 0;
  }

  return function logMethod(args, method, level) {
    const [facts, message] = args as unknown[] as [Facts | string, unknown];
    const error = typeof facts === 'object' ? facts?.['err'] : null;
    if (level < WARN || !isUnavailable(error)) return method.apply(this, args);
    const { err: _, ...others } = facts as Facts;
    const repeats = take(keyOf(others, message));
    if (repeats === null) return;
    const shown = { ...others, reason: reasonOf(error), ...(repeats > 0 ? { repeats } : {}) };
    method.apply(this, [shown, message] as unknown as typeof args);
  };
}
