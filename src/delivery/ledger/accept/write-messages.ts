import type pg from 'pg';
import { AppError } from '../../../errors.ts';
import type { KeptKey } from '../../../platform/db/idempotency.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { hashedName } from '../../../platform/db/sql/names.ts';
import { latestSchedule } from '../../terms/message.ts';
import { isPaidByMessage } from '../../terms/units.ts';
import { acceptRules, type LimitSettings } from '../limits/authority.ts';
import { findKept, type KeptOutcome, keptOutcome, type MessageKey } from './kept-keys.ts';
import type { MessageSource, NewMessage, NewRenderedMessage, WrittenMessage } from './new-message.ts';
import { refusalOf } from './reserve.ts';
import type { TrackingDefaults } from './route.ts';
import { isOverTestLimit, TEST_PROVIDER, testLimitReached } from './test-messages.ts';
import { unpricedStatement, writeFunction } from './write-sql.ts';

/** A message to write, perhaps with its idempotency key. */
export type AcceptedMessage = (NewMessage | NewRenderedMessage) & {
  key?: MessageKey | null | undefined;
  /** By which replies may name it: the first 16 bytes of the SHA-256 of the Message-ID that its client gave it. */
  alias?: Buffer | undefined;
};

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
  | KeptOutcome
  /** Its account cannot pay: spend_cap_reached, insufficient_funds, or validation_error for a country without a price. */
  | { kind: 'refused'; error: AppError }
  /** It costs something, and was to be left out. Then it is not known whether its account is `missing`. */
  | { kind: 'pays' }
  /** Its account, or the row of the key that it had, has just been removed. */
  | { kind: 'missing' };

/** A row of what the function returns. */
export interface OutcomeRow extends WrittenMessage {
  /** `written`, `charged`, or why its account cannot pay. */
  outcome: string;
}

/** The error of a message that its account cannot pay. @param outcome from the function */
export function unpaidOf(outcome: string): AppError {
  const error = refusalOf(outcome);
  if (error === null) throw new Error(`write_messages returned ${outcome}, which is unknown`);
  return error;
}

export function outcomeOf(row: OutcomeRow): WriteOutcome {
  const { outcome } = row;
  if (outcome === 'written' || outcome === 'charged')
    return { kind: 'written', message: row, isCharged: outcome === 'charged' };
  return { kind: 'refused', error: unpaidOf(outcome) };
}

/** The error of the limit that refused the messages; any other error is returned unchanged. */
export function errorOf(error: unknown): unknown {
  const { code } = error as { code?: string };
  const rule = acceptRules.find(({ sqlstate }) => sqlstate === code);
  if (rule) return new AppError(rule.code, rule.message);
  return isOverTestLimit(error) ? testLimitReached() : error;
}

/** Arguments of the function, by the names of its parameters. It has a default for each one that is left out. */
type Arguments = Readonly<Record<string, unknown>>;

const names = new Map<string, string>();

/** The name under which a call is prepared. There are as many as combinations of arguments that are sent. */
function nameOf(base: string, text: string): string {
  const name = names.get(text) ?? hashedName(base, text);
  names.set(text, name);
  return name;
}

type Called = Pick<typeof writeFunction, 'name' | 'base'>;

/** A call of a function with the arguments that are there: each one costs time, even if it is null. */
export function callOf({ name, base }: Called, given: Arguments): pg.QueryConfig {
  const values = Object.entries(given).filter(([, value]) => value !== null && value !== false);
  let count = 0;
  const named = values.map(([key, value]) => `${key} => ${value === true ? 'true' : `$${++count}`}`);
  const text = `select * from ${name}(${named.join(', ')})`;
  return {
    name: nameOf(base, text),
    text,
    values: values.map(([, value]) => value).filter((value) => value !== true),
  };
}

/** What is written with a message that needs no sender; null if it is an ordinary message. */
function endedOf({ id, account_id, test, events, failure, scheduled_at }: AcceptedMessage) {
  return test || events
    ? [{ id, account_id, test, events: events ?? [], failure, ends_at: scheduled_at }]
    : [];
}

const aliasOf = ({ id, brand_id, alias }: AcceptedMessage) =>
  alias ? [{ id, brand_id, digest: alias.toString('hex') }] : [];

const jsonTexts = new WeakMap<object, string>();

/** Settings as JSON, which is made once for each object. */
function jsonOf(settings: object): string {
  let text = jsonTexts.get(settings);
  if (text === undefined) jsonTexts.set(settings, (text = JSON.stringify(settings)));
  return text;
}

/** The columns of a message that its key gives it. */
const idempotencyKey = ({ key, shown = true }: MessageKey) => (shown ? { idempotency_key: key } : {});

/** The same, with what the statement needs to keep the key. */
const keptKey = ({ key, endpoint, fingerprint }: MessageKey) => ({
  idempotency_key: key,
  key_space: endpoint,
  fingerprint: fingerprint.toString('base64'),
});

/** The messages as the SQL reads them. */
const given = (
  messages: readonly AcceptedMessage[],
  source: MessageSource,
  keyColumnsOf: (key: MessageKey) => object,
): string =>
  JSON.stringify(
    messages.map(({ key, alias: _alias, ...message }) => ({
      ...message,
      ...source,
      ...(key && keyColumnsOf(key)),
    })),
  );

/**
 * Until when a message may be scheduled, because the days of its key begin then; null: it is sent at once. A move of the
 * message finds the key by the one it shows, so a hidden key counts from the latest time that a move can give it.
 */
function keptFrom({ scheduled_at: time, key }: AcceptedMessage): Date | null {
  if (!time) return null;
  return key?.shown === false ? latestSchedule() : time;
}

export function argumentsOf(messages: readonly AcceptedMessage[], options: WriteOptions): Arguments {
  const { source, limits, counted = true, money, tracking, rendered = false } = options;
  const reserving = money === 'reserve';
  const limited = limits !== undefined && counted;
  const keyed = messages.some(({ key }) => key);
  const priced = reserving || (rendered && messages.some(({ channel }) => !isPaidByMessage(channel)));
  const ended = messages.flatMap(endedOf);
  const aliases = messages.flatMap(aliasOf);
  /** A value for each message, unless no part of the function needs them. */
  const each = <Value>(isNeeded: boolean, value: (message: AcceptedMessage) => Value) =>
    isNeeded ? messages.map(value) : null;
  return {
    given: given(messages, source, idempotencyKey),
    ids: each(true, ({ id }) => id),
    accounts: each(true, ({ account_id }) => account_id),
    channels: each(reserving || limited, ({ channel }) => channel),
    segments: each(reserving || limited, ({ segments }) => segments ?? null),
    numbers: each(priced, ({ to_key }) => to_key),
    brands: each(keyed, ({ brand_id }) => brand_id),
    endpoints: each(keyed, ({ key }) => key?.endpoint ?? null),
    keys: each(keyed, ({ key }) => key?.key ?? null),
    fingerprints: each(keyed, ({ key }) => key?.fingerprint.toString('base64') ?? null),
    domains: each(limited, ({ domain_id }) => domain_id ?? null),
    scheduled: each(
      messages.some(({ scheduled_at: time }) => time),
      keptFrom,
    ),
    // No limit counts a message that never leaves, even if it has its outcome later.
    statuses: each(limited, ({ status, provider }) => (provider === TEST_PROVIDER ? 'delivered' : status)),
    tests: each(limited, ({ test }) => test),
    ended: ended.length > 0 ? JSON.stringify(ended) : null,
    aliases: aliases.length > 0 ? JSON.stringify(aliases) : null,
    reserving,
    only_free: money === 'leave_out',
    rendered,
    limited,
    settings: limits !== undefined && (reserving || limited) ? jsonOf(limits) : null,
    links: tracking === undefined ? null : jsonOf(tracking),
  };
}

/** By the ids of the messages. */
export type Outcomes = Map<number, WriteOutcome>;

async function callFunction(
  client: Queryable,
  messages: readonly AcceptedMessage[],
  options: WriteOptions,
): Promise<Outcomes> {
  const { rows } = await client.query<OutcomeRow>(callOf(writeFunction, argumentsOf(messages, options)));
  return new Map(rows.map((row) => [row.id, outcomeOf(row)]));
}

/** Whether a message has something that only the function writes, other than what a test has. */
export const needsFunction = ({
  scheduled_at: time,
  send_key_id: sendKey,
  key,
  alias,
}: Pick<AcceptedMessage, 'scheduled_at' | 'send_key_id' | 'key' | 'alias'>): boolean =>
  (time ?? null) !== null || (sendKey ?? null) !== null || key?.shown === false || alias !== undefined;

/** Whether the shorter statement does all that the messages need. */
const isUnpriced = (messages: readonly AcceptedMessage[], { money, rendered }: WriteOptions): boolean =>
  money === 'leave_out' &&
  !rendered &&
  !messages.some((message) => message.test || (message.events ?? null) !== null || needsFunction(message));

async function writeUnpricedMessages(
  client: Queryable,
  messages: readonly AcceptedMessage[],
  { source, limits, counted = true, tracking }: WriteOptions,
): Promise<Outcomes> {
  const counting = counted ? limits : undefined;
  const keyed = messages.some(({ key }) => key);
  const values = [given(messages, source, keptKey), tracking === undefined ? null : jsonOf(tracking)];
  const { rows } = await client.query<WrittenMessage>({
    ...unpricedStatement(keyed, counting !== undefined),
    values: counting === undefined ? values : [...values, jsonOf(counting)],
  });
  return new Map(rows.map((message) => [message.id, { kind: 'written', message, isCharged: false }]));
}

/**
 * Decides about messages that were neither written nor refused: an earlier request has taken their key, or they cost
 * something and were left out.
 */
export async function addUnwritten(
  outcomes: Outcomes,
  client: Queryable,
  messages: readonly AcceptedMessage[],
  { money }: WriteOptions,
): Promise<void> {
  const unwritten = messages.filter(({ id }) => !outcomes.has(id));
  // The others may be committed already: a failure here must not fail them.
  const kept = await findKept(client, unwritten).catch(() => new Map<AcceptedMessage, KeptKey>());
  for (const message of unwritten) {
    const found = kept.get(message);
    // A test costs nothing.
    const otherwise = { kind: money === 'leave_out' && !message.test ? 'pays' : 'missing' } as const;
    outcomes.set(message.id, found ? keptOutcome(found, message.key?.fingerprint) : otherwise);
  }
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
): Promise<Outcomes> {
  const write = isUnpriced(messages, options) ? writeUnpricedMessages : callFunction;
  const outcomes = await write(client, messages, options).catch((error: unknown) => {
    throw errorOf(error);
  });
  if (outcomes.size < messages.length) await addUnwritten(outcomes, client, messages, options);
  return outcomes;
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
