import type { Addition, NewMessage } from '../../delivery/write-messages.ts';

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

/** Writes the events of test outcomes. */
export const testEvents: Addition = {
  name: 'test_events',
  fields: { events: 'text[]' },
  follow: `test_events as (
    insert into message_events (message_id, attempt, type)
    select id, 1, unnest(events) from accepted where test
  )`,
};
