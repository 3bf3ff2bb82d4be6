import type pg from 'pg';
import type { Channel } from '../../../terms/message.ts';
import type { ProviderEntry } from '../../adapters/kind.ts';
import type { EmailProvider, OutgoingEmail, OutgoingSms, SmsProvider } from '../../adapters/port.ts';
import type { HandOverOutcome } from '../../../terms/hand-over-outcome.ts';

/** One attempt as the `capture` providers store it. */
interface CapturedMessage {
  messageId: number;
  attempt: number;
  channel: Channel;
  returnPath: string | null;
  from: string | null;
  to: string;
  subject: string | null;
  /** The whole message, byte for byte, for an email; the text in UTF-8 for an SMS. */
  content: Buffer;
}

/** Number of messages kept; older ones are deleted. */
export const MAX_CAPTURED_MESSAGES = 10_000;

const TRIM_EVERY = 500;
const CONCURRENCY = 4;

/**
 * The contents are one binary parameter that the statement cuts up by length. An array of bytea would be hex text of
 * twice the length: longer than a string can be for a batch of the largest messages.
 */
const INSERT_BATCH = `
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

/** Two senders that trim at the same time skip each other's rows. */
const TRIM = `
delete from captured_messages where id in (
  select id from captured_messages
  where id <= (select id from captured_messages order by id desc offset $1 limit 1)
  for update skip locked)`;

/** The contract that the providers of both channels share. */
interface CaptureProvider<Outgoing> {
  readonly name: string;
  readonly concurrency: number;
  handOver(batch: readonly Outgoing[]): Promise<HandOverOutcome[]>;
  close(): Promise<void>;
}

function parameters(batch: readonly CapturedMessage[]): unknown[] {
  const starts: number[] = [];
  let next = 1;
  for (const { content } of batch) {
    starts.push(next);
    next += content.length;
  }
  return [
    batch.map((message) => message.messageId),
    batch.map((message) => message.attempt),
    batch.map((message) => message.channel),
    batch.map((message) => message.returnPath),
    batch.map((message) => message.from),
    batch.map((message) => message.to),
    batch.map((message) => message.subject),
    Buffer.concat(batch.map((message) => message.content)),
    starts,
    batch.map((message) => message.content.length),
  ];
}

function captured(message: CapturedMessage): HandOverOutcome {
  const providerMessageId = `capture-${message.messageId}-${message.attempt}`;
  return { kind: 'accepted', providerMessageId, response: 'stored in the mailbox', delivered: true };
}

/**
 * Creates a provider that sends nothing: it stores each batch with one statement and reports its messages as
 * delivered, or as a fault if the database is unavailable. Handing over the same attempt again changes nothing.
 * @param capturedFrom returns what is stored of a message
 */
function createCapture<Outgoing>(
  pool: pg.Pool,
  capturedFrom: (message: Outgoing) => CapturedMessage,
): CaptureProvider<Outgoing> {
  let sinceTrim = TRIM_EVERY;

  async function trim(added: number): Promise<void> {
    sinceTrim += added;
    if (sinceTrim < TRIM_EVERY) return;
    sinceTrim = 0;
    await pool.query(TRIM, [MAX_CAPTURED_MESSAGES]);
  }

  return {
    name: 'capture',
    concurrency: CONCURRENCY,
    async handOver(batch) {
      const messages = batch.map(capturedFrom);
      try {
        await pool.query(INSERT_BATCH, parameters(messages));
      } catch (error) {
        return messages.map(() => ({
          kind: 'fault',
          reason: `cannot store mail: ${(error as Error).message}`,
        }));
      }
      // A failed trim does not affect these messages. The next batch trims again.
      await trim(messages.length).catch(() => (sinceTrim = TRIM_EVERY));
      return messages.map(captured);
    },
    close: () => Promise.resolve(),
  };
}

/** Sends nothing: every email is stored whole, shown on the mailbox page, and counts as delivered. */
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

/** Sends nothing: every SMS is stored, shown on the mailbox page, and counts as delivered. */
export function createCaptureSmsProvider(deps: { pool: pg.Pool }): SmsProvider {
  return createCapture(deps.pool, (sms: OutgoingSms) => ({
    messageId: sms.messageId,
    attempt: sms.attempt,
    channel: 'sms',
    returnPath: null,
    from: sms.from,
    to: sms.to,
    subject: null,
    content: Buffer.from(sms.text),
  }));
}

const schemes = ['capture:'];

export const captureEmail: ProviderEntry<'email'> = {
  name: 'capture',
  channel: 'email',
  url: { schemes, create: (_url, { pool }) => createCaptureProvider({ pool }) },
};

export const captureSms: ProviderEntry<'sms'> = {
  name: 'capture',
  channel: 'sms',
  url: { schemes, create: (_url, { pool }) => createCaptureSmsProvider({ pool }) },
};
