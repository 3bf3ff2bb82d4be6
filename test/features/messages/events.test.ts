// The events of a message show every attempt exactly once, without a stored event if it was simply sent.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { messageClasses } from '../../../src/delivery/terms/message.ts';
import type { HandOverOutcome } from '../../../src/delivery/terms/hand-over-outcome.ts';
import { intendMessages } from '../../../src/delivery/ledger/intend/queue-batch.ts';
import { claimBacklog } from '../../../src/delivery/ledger/claim/claim.ts';
import { type OutcomeRecord, outcomeRecord } from '../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../src/delivery/ledger/record/record.ts';
import { findMessage, findMessageEvents } from '../../../src/features/messages/model.ts';
import { presentMessageDetail } from '../../../src/features/messages/presenter.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

const OWNER = 60;

let test: TestDatabase;
let account: QueuedAccount;
let messageId: number;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  await insertSender(test.database, OWNER);
  account = await insertAccount(test.database);
  messageId = (await queueEmails(test.database, account, 1))[0] ?? 0;
});
afterEach(() =>
  test.database.pool.query(
    'truncate processes, messages, message_events, send_queue, handovers, allowance_buckets',
  ),
);

const accepted = (response: string, delivered = false): HandOverOutcome => ({
  kind: 'accepted',
  providerMessageId: null,
  response,
  delivered,
});

/** Makes the next attempt. @returns its intent, and the outcome to record */
async function attempt(
  seq: number,
  outcome: HandOverOutcome,
): Promise<{ seq: number; record: OutcomeRecord }> {
  const { pool } = test.database;
  await pool.query('update send_queue set due_at = now(), owner = null');
  const { accountId } = account;
  const wanted = { channel: 'email', class: messageClasses.transactional, accountId, owner: OWNER } as const;
  const claims = await claimBacklog(pool, { ...wanted, quantum: 1 }, TEST_LIMITS);
  const [message] = await intendMessages(pool, {
    owner: OWNER,
    seq,
    provider: 'smtp',
    keyring: testKeyring,
    claims,
  });
  if (!message) throw new Error('no intent');
  return { seq, record: outcomeRecord(message, 'smtp', outcome) };
}

const record = ({ seq, record: outcome }: { seq: number; record: OutcomeRecord }) =>
  createBatchRecording({ pool: test.database.pool, events: testEvents })([
    { owner: OWNER, seq, outcomes: [outcome] },
  ]);

async function shownEvents(): Promise<[string, number, unknown][]> {
  const { pool } = test.database;
  const tenant = { accountId: account.accountId, brandId: account.brandId } as Parameters<
    typeof findMessage
  >[1];
  const row = await findMessage(pool, tenant, messageId);
  if (!row) throw new Error('no message');
  const { events } = presentMessageDetail(row, await findMessageEvents(pool, messageId));
  return events.map(({ type, attempt: n, data }) => [type, n, data]);
}

const stored = async () =>
  (
    await test.database.pool.query<{ line: string }>(
      `select type || ' ' || attempt as line from message_events`,
    )
  ).rows.map(({ line }) => line);

describe('the events of a message', () => {
  it('show that it was sent, without a stored event', async () => {
    await record(await attempt(1, accepted('250 queued')));
    expect(await shownEvents()).toEqual([['sent', 1, { provider: 'smtp', response: '250 queued' }]]);
    expect(await stored()).toEqual([]);
  });

  it('show that it was sent and delivered at once', async () => {
    await record(await attempt(1, accepted('250 kept', true)));
    const data = { provider: 'smtp', response: '250 kept' };
    expect(await shownEvents()).toEqual([
      ['sent', 1, data],
      ['delivered', 1, data],
    ]);
  });

  it('show each attempt, the accepted one last', async () => {
    await record(await attempt(1, { kind: 'deferred', response: '451 later' }));
    await record(await attempt(2, accepted('250 queued')));
    expect(await shownEvents()).toEqual([
      ['deferred', 1, { provider: 'smtp', response: '451 later' }],
      ['sent', 2, { provider: 'smtp', response: '250 queued' }],
    ]);
  });

  it('show both attempts if a sender that was thought dead records its own late', async () => {
    const late = await attempt(1, accepted('250 first'));
    await record(await attempt(2, accepted('250 second')));
    await record({ ...late, record: { ...late.record, attempt: 7 } });
    await record({ ...late, record: { ...late.record, attempt: 7 } });
    expect(await shownEvents()).toEqual([
      ['sent', 1, { provider: 'smtp', response: '250 second' }],
      ['sent', 7, { provider: 'smtp', response: '250 first' }],
    ]);
    expect(await stored()).toEqual(['sent 7']);
  });
});
