import { AppError } from '../../../errors.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';
import { acceptRules, type LimitSettings } from '../limits/authority.ts';
import type { MessageSource, NewMessage, NewRenderedMessage, WrittenMessage } from './new-message.ts';
import {
  type Addition,
  hasSettings,
  nameOf,
  type TrackingDefaults,
  type WriteStatement,
} from './write-statement.ts';

export interface WriteOptions {
  /** The statement of the caller. One of its shapes must have exactly the parts that these options ask for. */
  statement: WriteStatement;
  source: MessageSource;
  /** Settings of the limits, which count the messages and may refuse them. By default, no limit counts them. */
  limits?: LimitSettings;
  /** Whether a limit counts one of the messages, if there are limits. By default, one may. */
  counted?: boolean;
  /** By default, no message is tracked. */
  tracking?: TrackingDefaults;
  additions?: readonly Addition[];
  /** Whether the messages are {@link NewRenderedMessage}s: no content is stored, and all emails have HTML. */
  rendered?: boolean;
}

/** The error of the limit or the addition that refused the messages; any other error is returned unchanged. */
function errorOf(error: unknown, additions: readonly Addition[]): unknown {
  const { code } = error as { code?: string };
  const rule = acceptRules.find(({ sqlstate }) => sqlstate === code);
  if (rule) return new AppError(rule.code, rule.message);
  const known = additions.flatMap(({ refuse }) => refuse?.error ?? []);
  return known.find(({ sqlstate }) => sqlstate === code)?.make() ?? error;
}

/**
 * Writes messages with their contents, a queue row for each message whose status is `queued`, and what the limits
 * reserve, in one statement. POST /messages, flows, the service's own mail and tests create their messages here. Only
 * campaigns write theirs elsewhere, with their blocks.
 *
 * POST /messages passes its idempotency keys and the outcomes of test keys as additions: SQL that becomes part of the
 * statement only if one of the messages needs it.
 * @param client a pool, or a client inside the caller's transaction. Wake the senders after the commit.
 * @param messages at least one, each with the fields of the additions
 * @returns the written messages by id, without those that an addition did not admit
 * @throws AppError with the code of the limit or the addition that refused the messages: none of them is written
 */
export async function writeMessages(
  client: Queryable,
  messages: readonly (NewMessage | NewRenderedMessage)[],
  { statement, source, limits, counted = true, tracking, additions = [], rendered = false }: WriteOptions,
): Promise<Map<number, WrittenMessage>> {
  const limited = limits !== undefined && counted;
  const shape = { additions, limited, tracked: tracking !== undefined, rendered };
  const settings = [hasSettings(shape) ? limits : undefined, tracking];
  const input = JSON.stringify(messages.map((message) => ({ ...message, ...source })));
  try {
    const { rows } = await client.query<WrittenMessage>({
      ...statement.prepared(nameOf(shape)),
      values: [input, ...settings.flatMap((each) => (each ? [JSON.stringify(each)] : []))],
    });
    return new Map(rows.map((row) => [row.id, row]));
  } catch (error) {
    throw errorOf(error, additions);
  }
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
