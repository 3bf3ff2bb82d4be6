import { createRequire } from 'node:module';
import pino, { type DestinationStream, type Logger } from 'pino';
import type PinoPretty from 'pino-pretty';
import type { Config } from './config.ts';
import { foldRepeats } from './log-repeats.ts';

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
 * secrets are redacted as a second line of defense. Of a server that is unavailable it says so once in 30 s.
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
