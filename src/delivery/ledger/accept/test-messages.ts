import type { NewMessage } from './new-message.ts';
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

/** A scheduled message of a test key gets its outcome at its time. */
const later: TestOutcome = { provider: TEST_PROVIDER, status: 'queued', events: [] };

/** What a message of a test key is written with. */
export const writtenTestOutcome = (
  message: Pick<NewMessage, 'channel' | 'to_key' | 'scheduled_at'>,
): TestOutcome => (message.scheduled_at ? later : testOutcome(message));

/** Maximum number of messages per account and day (UTC) that test keys and tests of templates may send. */
export const MAX_TEST_MESSAGES = 1_000;
const DAY_SECONDS = 86_400;

export function testLimitReached(): AppError {
  const message = `test keys and template tests of an account may send ${MAX_TEST_MESSAGES} messages a day (UTC)`;
  const secondsLeft = DAY_SECONDS - (Math.floor(Date.now() / 1000) % DAY_SECONDS);
  return tooMany(message, secondsLeft);
}

/** Whether an error is the refusal of test messages beyond the daily limit. */
export const isOverTestLimit = (error: unknown): boolean => (error as { code?: string }).code === 'CL004';

/**
 * Refuses test messages before any work is done for them. The function that writes them has the final say.
 * @param isReplay whether the request repeats an accepted one; called only if the account has reached its limit. By
 *   default false
 * @param wanted number of messages
 * @throws AppError rate_limited
 */
export async function requireTestCapacity(
  db: Queryable,
  accountId: number,
  isReplay: () => Promise<boolean> = () => Promise.resolve(false),
  wanted = 1,
): Promise<void> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from test_messages
     where account_id = $1 and created_at >= date_trunc('day', now(), 'UTC')`,
    [accountId],
  );
  if ((rows[0]?.count ?? 0) + wanted <= MAX_TEST_MESSAGES || (await isReplay())) return;
  throw testLimitReached();
}
