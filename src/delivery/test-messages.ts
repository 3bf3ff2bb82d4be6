import type { NewMessage } from './new-message.ts';
import type { Addition } from './write-statement.ts';
import { AppError } from '../errors.ts';
import type { Queryable } from '../platform/db/queryable.ts';

/** What a test key's message is written with instead of a queue row: its final state and its events. */
type TestOutcome = Partial<NewMessage> & Pick<NewMessage, 'status'> & { events: string[] };

const sent = { provider: 'test', sent_at: 'now' } as const;
const delivered = { ...sent, delivered_at: 'now' } as const;

/** Outcomes by the local part of the recipient's address. */
const outcomes: Record<string, TestOutcome> = {
  bounced: {
    ...sent,
    status: 'bounced',
    bounce: { type: 'hard', subtype: 'no_such_mailbox', diagnostic: 'the test recipient bounced@' },
    events: ['sent', 'bounced'],
  },
  complained: { ...delivered, status: 'complained', events: ['sent', 'delivered', 'complained'] },
  failed: {
    provider: 'test',
    status: 'failed',
    failure: { code: 'rejected', message: 'the test recipient failed@' },
    events: ['failed'],
  },
};

const defaultOutcome: TestOutcome = { ...delivered, status: 'delivered', events: ['sent', 'delivered'] };

/** The outcome of a message that was sent with a test key. */
export function testOutcome({ channel, to_key: key }: Pick<NewMessage, 'channel' | 'to_key'>): TestOutcome {
  const local = channel === 'email' ? key.slice(0, key.lastIndexOf('@')) : '';
  return outcomes[local] ?? defaultOutcome;
}

/** Writes the events of test outcomes, and the rows by which test messages are counted and their contents removed. */
export const testEvents: Addition = {
  name: 'test_events',
  fields: { events: 'text[]' },
  follow: `test_events as (
    insert into message_events (message_id, attempt, type)
    select id, 1, unnest(events) from accepted where test
  ), test_rows as (
    insert into test_messages (message_id, account_id) select id, account_id from accepted where test
  )`,
};

/** Messages that one account may send with test keys on one day, in UTC. */
const MAX_TEST_MESSAGES = 1_000;

/**
 * Checks that the account may send one more message with a test key today.
 * @param isReplay whether the request repeats an accepted one; asked only if the account has reached its limit
 * @throws AppError rate_limited
 */
export async function requireTestCapacity(
  db: Queryable,
  accountId: number,
  isReplay: () => Promise<boolean>,
): Promise<void> {
  const { rows } = await db.query<{ count: number; seconds_left: number }>(
    `select count(*)::int as count,
       ceil(extract(epoch from (date_trunc('day', now(), 'UTC') + interval '1 day') - now()))::int as seconds_left
     from test_messages where account_id = $1 and created_at >= date_trunc('day', now(), 'UTC')`,
    [accountId],
  );
  const { count = 0, seconds_left: secondsLeft = 1 } = rows[0] ?? {};
  if (count < MAX_TEST_MESSAGES || (await isReplay())) return;
  const message = `test keys of an account may send ${MAX_TEST_MESSAGES} messages a day (UTC)`;
  throw new AppError('rate_limited', message, {
    headers: { 'Retry-After': String(Math.max(1, secondsLeft)) },
  });
}
