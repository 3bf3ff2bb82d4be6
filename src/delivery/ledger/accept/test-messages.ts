import type { NewMessage } from './new-message.ts';
import type { Addition } from './write-statement.ts';
import { type AppError, tooMany } from '../../../errors.ts';
import type { Queryable } from '../../../platform/db/queryable.ts';

/** What is written for a test key's message in place of a queue row: its final state and its events. */
type TestOutcome = Partial<NewMessage> & Pick<NewMessage, 'status'> & { events: string[] };

/** The provider shown for messages of test keys and test runs. */
export const TEST_PROVIDER = 'test';

const sent = { provider: TEST_PROVIDER, sent_at: 'now' } as const;
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
    provider: TEST_PROVIDER,
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

/** Maximum number of messages per account and day (UTC) that test keys and tests of templates may send. */
const MAX_TEST_MESSAGES = 1_000;
const DAY_SECONDS = 86_400;

function limitReached(): AppError {
  const message = `test keys and template tests of an account may send ${MAX_TEST_MESSAGES} messages a day (UTC)`;
  const secondsLeft = DAY_SECONDS - (Math.floor(Date.now() / 1000) % DAY_SECONDS);
  return tooMany(message, secondsLeft);
}

/**
 * Writes the events of test outcomes, and the rows by which test messages are counted and their contents removed.
 * Refuses messages beyond the daily limit with `rate_limited`, even if requests of an account are concurrent.
 */
export const testEvents: Addition = {
  name: 'tests',
  fields: { events: 'text[]' },
  follow: `test_events as (
    insert into message_events (message_id, attempt, type)
    select id, 1, unnest(events) from accepted where test
  ), test_rows as (
    insert into test_messages (message_id, account_id) select id, account_id from accepted where test
  )`,
  refuse: {
    accountColumns: [],
    name: 'tests_refused',
    sql: `
      select refuse_over_test_limit(t.account_id, t.ids, ${MAX_TEST_MESSAGES}) as refused
      from (select account_id, array_agg(id) as ids from accepted where test group by 1 order by 1) t`,
    error: { sqlstate: 'CL004', make: limitReached },
  },
};

/**
 * Refuses a test message before any work is done for it. {@link testEvents} has the final say when the message is
 * written.
 * @param isReplay whether the request repeats an accepted one; called only if the account has reached its limit. By
 *   default false
 * @throws AppError rate_limited
 */
export async function requireTestCapacity(
  db: Queryable,
  accountId: number,
  isReplay: () => Promise<boolean> = () => Promise.resolve(false),
): Promise<void> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from test_messages
     where account_id = $1 and created_at >= date_trunc('day', now(), 'UTC')`,
    [accountId],
  );
  if ((rows[0]?.count ?? 0) < MAX_TEST_MESSAGES || (await isReplay())) return;
  throw limitReached();
}
