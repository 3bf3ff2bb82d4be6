import type { Logger } from 'pino';
import { AppError, type ErrorCode } from '../../../errors.ts';
import { TinyPieces } from '../listening/data-pieces.ts';
import { SubmissionRefusal } from './port.ts';

type Status = [responseCode: number, enhancedCode: string];

const permanent: Status = [554, '5.7.1'];
/** A smarthost keeps the mail for days, and a program shows the sentence. */
const noFunds: Status = [452, '4.3.1'];

/**
 * The replies to errors of the API. 4xx: the client may send the mail again; 5xx: it must not. A code that is not here is
 * a mistake that sending the mail again does not correct.
 */
const statuses: Partial<Record<ErrorCode, Status>> = {
  validation_error: [554, '5.6.0'],
  payload_too_large: [552, '5.3.4'],
  sender_not_verified: [550, '5.7.1'],
  reserved_header: [554, '5.6.0'],
  unsupported_media_type: [554, '5.6.1'],
  insufficient_funds: noFunds,
  spend_cap_reached: noFunds,
  sandbox_limit_reached: noFunds,
  rate_limited: [450, '4.7.1'],
  unavailable: [451, '4.3.0'],
  internal_error: [451, '4.3.0'],
};

/** RFC 5321, section 4.5.3.1.5: 512 bytes with `554 ` and the line break. */
const MAX_REPLY_BYTES = 512 - 6;

/** Makes a text part of a reply: one line of ASCII, which all clients can read and log. */
export function replyText(text: string): string {
  const line = text.replace(/[^\x20-\x7e]+/g, (found) => (/^\s+$/.test(found) ? ' ' : '?'));
  return line.length <= MAX_REPLY_BYTES ? line : `${line.slice(0, MAX_REPLY_BYTES - 3)}...`;
}

/** A sentence with all fields: `validation_error: headers.X-A: must not be empty; subject: is too long`. */
function sentence({ code, message, validationErrors }: AppError): string {
  const fields = Object.entries(validationErrors).map(([field, texts]) => `${field}: ${texts.join(', ')}`);
  return `${code}: ${fields.length > 0 ? fields.join('; ') : message}`;
}

function refusalOf(error: unknown, log: Logger): SubmissionRefusal {
  if (error instanceof SubmissionRefusal) return error;
  if (error instanceof TinyPieces) return new SubmissionRefusal(421, '4.7.0', error.message);
  if (error instanceof AppError) {
    const [responseCode, enhancedCode] = statuses[error.code] ?? permanent;
    if (responseCode === 451) log.warn({ err: error }, 'mail not accepted; the client will retry');
    return new SubmissionRefusal(responseCode, enhancedCode, sentence(error), { cause: error });
  }
  // The library's error for a client that is gone before the end of its mail, which gets no reply.
  const isGone = (error as { code?: unknown } | null)?.code === 'ECONNECTION';
  log[isGone ? 'debug' : 'error']({ err: error }, 'mail not accepted; the client will retry');
  return new SubmissionRefusal(
    451,
    '4.3.0',
    'unavailable: the mail cannot be accepted now; try again later',
    {
      cause: error,
    },
  );
}

/**
 * Translates what a command or a mail was refused with into a reply.
 * @returns an error as smtp-server takes it, with `responseCode`
 */
export function replyTo(error: unknown, log: Logger): Error & { responseCode: number } {
  const refusal = refusalOf(error, log);
  refusal.message = replyText(refusal.message);
  return refusal;
}
