import pino, { type DestinationStream, type Logger } from 'pino';
import type { Config } from './config.ts';

/** Never logged, wherever they are put by mistake. */
const SECRET = [
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

const paths = SECRET.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/**
 * Structured logs, one JSON object a line. Log ids (`request_id`, `account_id`, `message_id`, `workflow_id`), never
 * bodies, addresses or secrets; the best known names of those are blacked out all the same.
 * @param role of this process
 * @param destination standard output by default
 */
export function createLogger(
  config: Pick<Config, 'LOG_LEVEL'>,
  role: string,
  destination?: DestinationStream,
): Logger {
  const options = {
    level: config.LOG_LEVEL,
    base: { role, pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths, censor: '[redacted]' },
    serializers: { err: serializeError },
  };
  return destination ? pino(options, destination) : pino(options);
}

/** An error without what libraries hang on it: a driver's error carries the row, a client's the whole request. */
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
