import type pg from 'pg';
import { createSizeRecorder } from '../../../ledger/facts/provider-sizes.ts';
import { DEFAULT_PROVIDER } from '../../../terms/backlog.ts';
import type { Channel } from '../../../terms/message.ts';
import type { ProviderEntry, SettingsProviderDeps } from '../../adapters/kind.ts';
import {
  type EmailProvider,
  isLetter,
  type OutgoingMail,
  type OutgoingSms,
  type SmsProvider,
} from '../../adapters/port.ts';
import { joinBody, lostIfUnreadable } from '../../adapters/request-body.ts';
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
/** The part of the bytes to keep after which a trim is due, too. */
const TRIM_SHARE = 0.05;
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

/**
 * Keeps the newest messages, at most $1 of them with $2 bytes, but always the last. Two senders that trim at the same
 * time skip each other's rows.
 */
const TRIM = `
delete from captured_messages where id in (
  select id from captured_messages
  where id <= (
    select max(id)
    from (select id, row_number() over newest as messages, sum(size_bytes) over newest as bytes
          from captured_messages window newest as (order by id desc)) w
    where messages > 1 and (messages > $1 or bytes > $2))
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

export interface CaptureDeps {
  pool: pg.Pool;
  /** Older messages are deleted if all have more bytes than this; 500 MB by default. */
  maxBytes?: number;
}

const DEFAULT_MAX_BYTES = 500_000_000;

/** Deletes what is too old to be kept, now and then. */
function createTrim({ pool, maxBytes = DEFAULT_MAX_BYTES }: CaptureDeps) {
  let messages = TRIM_EVERY;
  let bytes = 0;
  /** A failed trim does not affect the added messages. The next batch trims again. */
  return async (added: readonly CapturedMessage[]): Promise<void> => {
    messages += added.length;
    bytes += added.reduce((sum, { content }) => sum + content.length, 0);
    if (messages < TRIM_EVERY && bytes < maxBytes * TRIM_SHARE) return;
    messages = 0;
    bytes = 0;
    await pool.query(TRIM, [MAX_CAPTURED_MESSAGES, maxBytes]).catch(() => (messages = TRIM_EVERY));
  };
}

const isCaptured = (each: CapturedMessage | HandOverOutcome): each is CapturedMessage => !('kind' in each);

/**
 * Creates a provider that sends nothing: it stores each batch with one statement and reports its messages as
 * delivered, or as a fault if the database is unavailable. Handing over the same attempt again changes nothing.
 * @param capturedFrom returns what is stored of a message, or the outcome of one that cannot be read
 */
function createCapture<Outgoing>(
  deps: CaptureDeps,
  capturedFrom: (message: Outgoing) => Promise<CapturedMessage | HandOverOutcome>,
): CaptureProvider<Outgoing> {
  const trim = createTrim(deps);

  async function store(messages: readonly CapturedMessage[]): Promise<HandOverOutcome | null> {
    try {
      if (messages.length > 0) await deps.pool.query(INSERT_BATCH, parameters(messages));
      return null;
    } catch (error) {
      return { kind: 'fault', reason: `cannot store mail: ${(error as Error).message}` };
    }
  }

  return {
    name: 'capture',
    concurrency: CONCURRENCY,
    async handOver(batch) {
      const read = await Promise.all(batch.map(capturedFrom));
      const messages = read.filter(isCaptured);
      const fault = await store(messages);
      if (!fault) await trim(messages);
      return read.map((each) => (isCaptured(each) ? (fault ?? captured(each)) : each));
    },
    close: () => Promise.resolve(),
  };
}

async function capturedEmail(mail: OutgoingMail): Promise<CapturedMessage> {
  const { messageId, attempt, returnPath, from, to, subject } = mail;
  const content = isLetter(mail) ? await joinBody([mail.built]) : mail.built.data;
  return { messageId, attempt, channel: 'email', returnPath, from, to, subject, content };
}

/** Sends nothing: every email is stored whole, shown on the mailbox page, and counts as delivered. */
export function createCaptureProvider(deps: CaptureDeps): EmailProvider {
  return createCapture(deps, (mail: OutgoingMail) => capturedEmail(mail).catch(lostIfUnreadable));
}

/** Sends nothing: every SMS is stored, shown on the mailbox page, and counts as delivered. */
export function createCaptureSmsProvider(deps: CaptureDeps): SmsProvider {
  return createCapture(deps, ({ messageId, attempt, from, to, text }: OutgoingSms) => {
    const content = Buffer.from(text);
    const sms = { messageId, attempt, from, to, content };
    return Promise.resolve({ ...sms, channel: 'sms', returnPath: null, subject: null });
  });
}

const schemes = ['capture:'];
const BYTES_PER_MB = 1_000_000;

const depsOf = ({ config, pool }: SettingsProviderDeps): CaptureDeps => ({
  pool,
  maxBytes: config.CAPTURED_MB * BYTES_PER_MB,
});

export const captureEmail: ProviderEntry<'email'> = {
  name: 'capture',
  channel: 'email',
  url: {
    schemes,
    create(_url, deps) {
      // The setting may have named a mail server before.
      createSizeRecorder(deps.pool, DEFAULT_PROVIDER)(null);
      return createCaptureProvider(depsOf(deps));
    },
  },
};

export const captureSms: ProviderEntry<'sms'> = {
  name: 'capture',
  channel: 'sms',
  url: { schemes, create: (_url, deps) => createCaptureSmsProvider(depsOf(deps)) },
};
