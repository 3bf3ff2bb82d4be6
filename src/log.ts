import { createRequire } from 'node:module';
import pino, { type DestinationStream, type Logger, type LoggerOptions } from 'pino';
import type PinoPretty from 'pino-pretty';
import type { Config } from './config.ts';
import { isConnectionError } from './platform/db/queryable.ts';

/** Fields that are never logged, whatever object they are in by mistake. */
const SECRET_FIELDS = [
  'password',
  'authorization',
  'token',
  'secret',
  'api_key',
  'apiKey',
  'body',
  'html',
  'text',
  'to',
  'from',
  'email',
  'phone',
  'reply_to',
];

const redactedPaths = SECRET_FIELDS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/** Receives log lines. A terminal has `isTTY`, as `process.stdout` does. */
export type LogOutput = DestinationStream & { isTTY?: boolean };

/**
 * Creates a structured log: one JSON object per line, or, for people at a terminal, readable lines. Log ids
 * (`request_id`, `account_id`, `message_id`, `workflow_id`), never bodies, addresses or secrets. The usual names of
 * secrets are redacted as a second line of defense. A server that is unavailable is logged once in 30 s.
 * @param role of this process
 * @param output standard output by default
 */
export function createLogger(
  config: Pick<Config, 'LOG_LEVEL' | 'LOG_FORMAT'>,
  role: string,
  output: LogOutput = standardOutput(),
): Logger {
  const isPretty = config.LOG_FORMAT === 'pretty' || (config.LOG_FORMAT === 'auto' && output.isTTY === true);
  const options = {
    level: config.LOG_LEVEL,
    base: { role, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: redactedPaths, censor: '[redacted]' },
    serializers: { err: serializeError },
    hooks: { logMethod: foldRepeats() },
  };
  return pino(options, isPretty ? prettyOutput(output) : output);
}

/** Writes synchronously, so that the last lines before the end of the process are not lost. */
function standardOutput(): LogOutput {
  const isTTY = process.stdout.isTTY;
  return Object.assign(pino.destination({ fd: process.stdout.fd, sync: true }), { isTTY });
}

/** Formats JSON lines for people. */
function prettyOutput(output: LogOutput): DestinationStream {
  // Loaded only here: the roles of a deployment log JSON, and their memory is counted.
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty;
  const format = prettyFactory({
    translateTime: 'SYS:HH:MM:ss.l',
    ignore: 'role,pid',
    messageFormat: '{role}: {msg}',
    singleLine: true,
  });
  return { write: (line) => output.write(format(line)) };
}

/**
 * Reduces an error to its name, message, code and stack. Libraries attach more: a driver's error has the row, an HTTP
 * client's the whole request.
 */
function serializeError(error: unknown): object {
  if (!(error instanceof Error)) return { message: typeof error };
  const { code } = error as { code?: unknown };
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' ? { code } : {}),
    stack: error.stack,
    ...(error.cause instanceof Error ? { cause: serializeError(error.cause) } : {}),
  };
}

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;
type Fields = Record<string, unknown>;

const WARN = 40;
/** A line is repeated only after this time. */
const REPEAT_MS = 30_000;
/** Maximum number of remembered lines. When it is exceeded, all are forgotten. */
const MAX_REMEMBERED = 1_000;
/** Fields that differ between lines about the same failure. */
const PASSING_FIELDS = new Set(['err', 'request_id', 'duration_ms', 'items', 'claims']);

/** gRPC's code for an engine that is unavailable. */
const UNAVAILABLE = 14;

interface SeenLine {
  loggedAt: number;
  /** Number of repetitions suppressed since then. */
  repeats: number;
}

function isUnavailable(error: unknown): error is Error {
  if (!(error instanceof Error)) return false;
  return (error as { code?: unknown }).code === UNAVAILABLE || isConnectionError(error);
}

/** What lines about the same failure have in common. */
function keyOf(fields: Fields, message: unknown): string {
  return JSON.stringify([message, Object.entries(fields).filter(([name]) => !PASSING_FIELDS.has(name))]);
}

/** The error's message; that of a host with several addresses has only a code. */
function reasonOf(error: Error): string {
  return error.message || (error as { code?: string }).code || error.name;
}

/**
 * Creates a hook for a log that keeps it readable while the database, the engine or another server is unavailable, when
 * every loop and request fails again and again. A warning or error whose `err` is a lost or refused connection is
 * logged with its `reason` instead of the stack, which says only where our code noticed. It is logged again only after
 * 30 s, with the number of suppressed lines in `repeats`. Lines about other failures, or other ids, are not touched.
 * @param now in milliseconds, of a monotonic clock
 */
export function foldRepeats(now: () => number = () => performance.now()): LogMethod {
  const seen = new Map<string, SeenLine>();

  /** @returns how many lines were suppressed before this one; null if this one is to be suppressed, too */
  function take(key: string): number | null {
    const last = seen.get(key);
    if (last && now() - last.loggedAt < REPEAT_MS) {
      last.repeats += 1;
      return null;
    }
    if (seen.size >= MAX_REMEMBERED) seen.clear();
    seen.set(key, { loggedAt: now(), repeats: 0 });
    return last?.repeats ?? 0;
  }

  return function logMethod(args, method, level) {
    const [fields, message] = args as unknown[] as [Fields | string, unknown];
    const error = typeof fields === 'object' ? fields?.['err'] : null;
    if (level < WARN || !isUnavailable(error)) return method.apply(this, args);
    const { err: _, ...others } = fields as Fields;
    const repeats = take(keyOf(others, message));
    if (repeats === null) return;
    const shown = { ...others, reason: reasonOf(error), ...(repeats > 0 ? { repeats } : {}) };
    method.apply(this, [shown, message] as unknown as typeof args);
  };
}
