import type pg from 'pg';
import type { HandOverOutcome, EmailProvider, OutgoingEmail, OutgoingSms, SmsProvider } from './port.ts';

/** One handing-over as the `capture` providers keep it. */
interface CapturedMessage {
  messageId: number;
  attempt: number;
  channel: 'email' | 'sms';
  returnPath: string | null;
  from: string | null;
  to: string;
  subject: string | null;
  /** The whole message, byte for byte, for an email; the text in UTF-8 for an SMS. */
  content: Buffer;
}

/** Newest messages kept; older ones go. */
export const CAPTURED_MESSAGES_KEPT = 10_000;

const TRIM_EVERY = 500;
const CONCURRENCY = 4;

/**
 * The contents travel as one binary parameter, cut up by length: an array of bytea would be hex text,
 * twice as long, and beyond what a string can hold for a window of the largest messages.
 */
const KEEP_WINDOW = `
insert into captured_messages
  (message_id, attempt, channel, return_path, from_address, to_address, subject, raw, body, size_bytes)
select message_id, attempt, channel, return_path, from_address, to_address, subject,
  case channel when 'email' then content end,
  case channel when 'sms' then convert_from(content, 'UTF8') end,
  length(content)
from (
  select u.*, substring($8::bytea from start_at for size) as content
  from unnest($1::bigint[], $2::smallint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $9::int[], $10::int[])
    as u (message_id, attempt, channel, return_path, from_address, to_address, subject, start_at, size)
) w
order by message_id, attempt
on conflict (message_id, attempt) do nothing`;

/** Two senders that trim at once skip each other's rows. */
const TRIM = `
delete from captured_messages where id in (
  select id from captured_messages
  where id <= (select id from captured_messages order by id desc offset $1 limit 1)
  for update skip locked)`;

/** The contract of both channels' providers. */
interface CaptureProvider<Outgoing> {
  readonly name: string;
  readonly concurrency: number;
  handOver(window: readonly Outgoing[]): Promise<HandOverOutcome[]>;
  close(): Promise<void>;
}

function parameters(window: readonly CapturedMessage[]): unknown[] {
  const starts: number[] = [];
  let next = 1;
  for (const { content } of window) {
    starts.push(next);
    next += content.length;
  }
  return [
    window.map((message) => message.messageId),
    window.map((message) => message.attempt),
    window.map((message) => message.channel),
    window.map((message) => message.returnPath),
    window.map((message) => message.from),
    window.map((message) => message.to),
    window.map((message) => message.subject),
    Buffer.concat(window.map((message) => message.content)),
    starts,
    window.map((message) => message.content.length),
  ];
}

function captured(message: CapturedMessage): HandOverOutcome {
  const providerMessageId = `capture-${message.messageId}-${message.attempt}`;
  return { kind: 'accepted', providerMessageId, response: 'kept in the mailbox', delivered: true };
}

/**
 * A provider that sends nothing: it keeps each window in one statement, and calls its messages delivered. Where the
 * database is away, that is a fault of each. Handing the same attempt over again changes nothing.
 * @param capturedFrom what is kept of a message of the channel
 */
export function createCapture<Outgoing>(
  pool: pg.Pool,
  capturedFrom: (message: Outgoing) => CapturedMessage,
): CaptureProvider<Outgoing> {
  let sinceTrim = TRIM_EVERY;

  async function trim(added: number): Promise<void> {
    sinceTrim += added;
    if (sinceTrim < TRIM_EVERY) return;
    sinceTrim = 0;
    await pool.query(TRIM, [CAPTURED_MESSAGES_KEPT]);
  }

  return {
    name: 'capture',
    concurrency: CONCURRENCY,
    async handOver(window) {
      const messages = window.map(capturedFrom);
      try {
        await pool.query(KEEP_WINDOW, parameters(messages));
      } catch (error) {
        return messages.map(() => ({
          kind: 'fault',
          reason: `cannot keep mail: ${(error as Error).message}`,
        }));
      }
      // Untrimmed is no trouble of these messages: the next window trims.
      await trim(messages.length).catch(() => (sinceTrim = TRIM_EVERY));
      return messages.map(captured);
    },
    close: () => Promise.resolve(),
  };
}

/** Sends nothing: every email is kept whole in the database and shown on the mailbox page, and counts as delivered. */
export function createCaptureProvider(deps: { pool: pg.Pool }): EmailProvider {
  return createCapture(deps.pool, (email: OutgoingEmail) => ({
    messageId: email.messageId,
    attempt: email.attempt,
    channel: 'email',
    returnPath: email.returnPath,
    from: email.from,
    to: email.to,
    subject: email.subject,
    content: email.built.data,
  }));
}

/** Sends nothing: every SMS is kept in the database and shown on the mailbox page, and counts as delivered. */
export function createCaptureSmsProvider(deps: { pool: pg.Pool }): SmsProvider {
  return createCapture(deps.pool, (sms: OutgoingSms) => ({
    messageId: sms.messageId,
    attempt: sms.attempt,
    channel: 'sms',
    returnPath: null,
    from: null,
    to: sms.to,
    subject: null,
    content: Buffer.from(sms.text),
  }));
}
