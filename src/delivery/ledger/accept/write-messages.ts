import { AppError } from '../../../errors.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { acceptRules, type LimitSettings } from '../limits/authority.ts';
import type { MessageSource, NewMessage, NewRenderedMessage, WrittenMessage } from './new-message.ts';
import { refusalOf } from './reserve.ts';
import type { TrackingDefaults } from './route.ts';
import { isOverTestLimit, testLimitReached } from './test-messages.ts';
import { writeFunction } from './write-function.ts';

/** The idempotency key that a message is sent with. */
export interface MessageKey {
  /** The name under which it is kept, from `keySpace`. */
  endpoint: string;
  key: string;
  /** Of the request. */
  fingerprint: Buffer;
}

/** A message to write, perhaps with its idempotency key. */
export type AcceptedMessage = (NewMessage | NewRenderedMessage) & { key?: MessageKey | null };

export interface WriteOptions {
  source: MessageSource;
  /** Settings of the limits, which count the messages and may refuse them. By default, no limit counts them. */
  limits?: LimitSettings;
  /** Whether a limit counts one of the messages, if there are limits. By default, one may. */
  counted?: boolean;
  /**
   * What happens to messages that cost something: `reserve` their prices, which needs `limits`, or `leave_out` these
   * messages. By default they are written, because a claim reserves their prices or their account pays nothing.
   */
  money?: 'reserve' | 'leave_out';
  /** By default, no message is tracked. */
  tracking?: TrackingDefaults;
  /** Whether the messages are {@link NewRenderedMessage}s: no content is stored, and all emails have HTML. */
  rendered?: boolean;
}

/** What became of a message. */
export type WriteOutcome =
  /** `isCharged`: it has reserved a price, which is 0 within the monthly allowance. */
  | { kind: 'written'; message: WrittenMessage; isCharged: boolean }
  /** An earlier request had the same key and the same payload. */
  | { kind: 'replayed'; id: number; status: number }
  /** An earlier request had the same key and another payload. */
  | { kind: 'conflict' }
  /** Its account cannot pay: spend_cap_reached, insufficient_funds, or validation_error for a country without a price. */
  | { kind: 'refused'; error: AppError }
  /** It costs something, and was to be left out. */
  | { kind: 'pays' }
  /** Its account, or the request that had taken its key, has just been removed. */
  | { kind: 'missing' };

/** A row of what the function returns. */
interface OutcomeRow extends WrittenMessage {
  outcome: string;
  is_charged: boolean;
  kept_id: number | null;
  kept_status: number | null;
}

function outcomeOf({ outcome, is_charged, kept_id, kept_status, ...message }: OutcomeRow): WriteOutcome {
  switch (outcome) {
    case 'written':
      return { kind: 'written', message, isCharged: is_charged };
    case 'replayed':
      return { kind: 'replayed', id: kept_id ?? 0, status: kept_status ?? 0 };
    case 'conflict':
    case 'pays':
    case 'missing':
      return { kind: outcome };
    default: {
      const error = refusalOf(outcome);
      if (error === null) throw new Error(`write_messages returned ${outcome}, which is unknown`);
      return { kind: 'refused', error };
    }
  }
}

/** The error of the limit that refused the messages; any other error is returned unchanged. */
function errorOf(error: unknown): unknown {
  const { code } = error as { code?: string };
  const rule = acceptRules.find(({ sqlstate }) => sqlstate === code);
  if (rule) return new AppError(rule.code, rule.message);
  return isOverTestLimit(error) ? testLimitReached() : error;
}

const PARAMETERS = 20;

const statement = {
  name: writeFunction.name,
  text: `select * from ${writeFunction.name}(${Array.from({ length: PARAMETERS }, (_, n) => `$${n + 1}`).join(', ')})`,
};

/** What is written with a message that needs no sender; null if it is an ordinary message. */
function endedOf({ id, account_id, test, events, failure }: AcceptedMessage) {
  return test || events ? [{ id, account_id, test, events: events ?? [], failure }] : [];
}

function valuesOf(messages: readonly AcceptedMessage[], options: WriteOptions): unknown[] {
  const { source, limits, counted = true, money, tracking, rendered = false } = options;
  const reserving = money === 'reserve';
  const limited = limits !== undefined && counted;
  const keyed = messages.some(({ key }) => key);
  const ended = messages.flatMap(endedOf);
  const given = messages.map(({ key, ...message }) =>
    key ? { ...message, ...source, idempotency_key: key.key } : { ...message, ...source },
  );
  /** A value for each message, unless no part of the function needs them. */
  const each = <Value>(isNeeded: boolean, value: (message: AcceptedMessage) => Value) =>
    isNeeded ? messages.map(value) : null;
  return [
    JSON.stringify(given),
    each(true, ({ id }) => id),
    each(true, ({ account_id }) => account_id),
    each(reserving || limited, ({ channel }) => channel),
    each(reserving || limited, ({ segments }) => segments ?? null),
    each(reserving, ({ to_key }) => to_key),
    each(keyed, ({ brand_id }) => brand_id),
    each(keyed, ({ key }) => key?.endpoint ?? null),
    each(keyed, ({ key }) => key?.key ?? null),
    each(keyed, ({ key }) => key?.fingerprint.toString('base64') ?? null),
    each(limited, ({ domain_id }) => domain_id ?? null),
    each(limited, ({ status }) => status),
    each(limited, ({ test }) => test),
    ended.length > 0 ? JSON.stringify(ended) : null,
    reserving,
    money === 'leave_out',
    rendered,
    limited,
    limits === undefined ? null : JSON.stringify(limits),
    tracking === undefined ? null : JSON.stringify(tracking),
  ];
}

/**
 * Accepts messages in one statement: takes their keys, reserves their prices, writes them with their contents and a queue
 * row for each whose status is `queued`, and counts them in the limits. All messages but those of campaigns, which are
 * written with their blocks, are created here.
 * @param client a pool, or a client inside the caller's transaction. Wake the senders after the commit.
 * @param messages at least one, in the order in which prices are reserved
 * @returns the outcome of each message, by id
 * @throws AppError with the code of the limit that has too little left, or `rate_limited` for too many test messages:
 *   no message is written
 */
export async function acceptMessages(
  client: Queryable,
  messages: readonly AcceptedMessage[],
  options: WriteOptions,
): Promise<Map<number, WriteOutcome>> {
  try {
    const { rows } = await client.query<OutcomeRow>({ ...statement, values: valuesOf(messages, options) });
    return new Map(rows.map((row) => [row.id, outcomeOf(row)]));
  } catch (error) {
    throw errorOf(error);
  }
}

/**
 * Writes messages without keys as {@link acceptMessages} does, all of them or none.
 * @param client inside the caller's transaction if the messages cost something
 * @returns the written messages by id
 * @throws AppError as {@link acceptMessages}, and the error of the first message that its account cannot pay
 */
export async function writeMessages(
  client: Queryable,
  messages: readonly (NewMessage | NewRenderedMessage)[],
  options: WriteOptions,
): Promise<Map<number, WrittenMessage>> {
  const outcomes = await acceptMessages(client, messages, options);
  return new Map(
    messages.map(({ id }) => {
      const outcome = outcomes.get(id);
      if (outcome?.kind === 'refused') throw outcome.error;
      if (outcome?.kind !== 'written') throw new Error(`message ${id} was not written`);
      return [id, outcome.message];
    }),
  );
}

/** The sequence of message ids, for an id allocator. */
export const MESSAGE_ID_SEQUENCE = 'messages_id_seq';

/** Allocates ids for messages that are about to be written. */
export async function allocateMessageIds(client: Queryable, count: number): Promise<number[]> {
  const { rows } = await client.query<{ id: number }>(
    `select nextval('${MESSAGE_ID_SEQUENCE}') as id from generate_series(1, $1)`,
    [count],
  );
  return rows.map((row) => row.id);
}
