// The short record of plain messages has the same effects as the general one, and leaves all others to it.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { HandOverOutcome } from '../../../../src/delivery/providers/port.ts';
import { takePlainMessages } from '../../../../src/delivery/send/claim/take.ts';
import type { BatchMessage } from '../../../../src/delivery/send/intend/batch.ts';
import { outcomeRecords } from '../../../../src/delivery/send/record/outcomes.ts';
import { type BatchRecord, createBatchRecording } from '../../../../src/delivery/send/record/record.ts';
import { createPlainRecording } from '../../../../src/delivery/send/record/record-plain.ts';
import type { Database } from '../../../../src/platform/db/database.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { countUnlockedRows } from '../../../support/lock-order.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { statSums } from '../../../support/stats.ts';

const OWNER = 70;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let account: QueuedAccount;
let seq = 0;

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
  ({ database } = test);
  await insertSender(database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(database);
});

const accepted = (n: number): HandOverOutcome => ({
  kind: 'accepted',
  providerMessageId: n === 0 ? null : `id "${n}", with {marks}`,
  response: `250 OK ${n}`,
  delivered: false,
});

async function handOver(
  count: number,
  outcomeOf: (n: number) => HandOverOutcome = accepted,
  changed: (message: BatchMessage) => BatchMessage = (message) => message,
): Promise<BatchRecord> {
  await queueEmails(database, account, count);
  const request = {
    owner: OWNER,
    seq: ++seq,
    provider: 'smtp',
    reportSeconds: 0,
    accountId: account.accountId,
  };
  const taken = await takePlainMessages(
    database.pool,
    { ...request, providerId: 0, messages: 50 },
    TEST_LIMITS,
  );
  const messages = (taken?.messages ?? []).map(changed);
  return {
    owner: OWNER,
    seq,
    outcomes: outcomeRecords(
      'smtp',
      messages,
      messages.map((_, n) => outcomeOf(n)),
    ),
  };
}

/** Whether the short record takes the batches. */
const recordPlain = (...batches: BatchRecord[]) => createPlainRecording(database.pool, testEvents)(batches);

const record = (...batches: BatchRecord[]) =>
  createBatchRecording({ pool: database.pool, events: testEvents })(batches);

async function rowsOf(sql: string, id = account.accountId): Promise<Record<string, unknown>[]> {
  const { rows } = await database.pool.query<Record<string, unknown>>(sql, [id]);
  return rows;
}

/** What a record has stored about the account's messages, without ids and times. */
const effects = async () => ({
  messages: await rowsOf(
    `select status, attempt_count, provider, provider_message_id, sent_attempt, response, failure, hold, bounce,
       contact_id, unknown_at, unsent_at, delivered_at, sent_at = updated_at as now, content_version_id, test
     from messages where account_id = $1 order by id`,
  ),
  events: await rowsOf(
    'select type from message_events e join messages m on m.id = e.message_id where m.account_id = $1',
  ),
  queue: await rowsOf('select 1 from send_queue where account_id = $1'),
  usage: await rowsOf(
    `select month, sum(email_used)::int as used, sum(email_sent)::int as sent, sum(sms_used)::int as sms_used,
       sum(sms_sent)::int as sms_sent from usage_changes where account_id = $1 group by 1`,
  ),
  stats: await statSums(database.pool, account.brandId),
  outcomes: await rowsOf(
    'select hour, attempted, hard_bounces, complaints from account_outcomes where account_id = $1',
  ),
  allowance: await rowsOf('select bucket, used from allowance_buckets where account_id = $1'),
  intents: await rowsOf('select 1 from handovers where owner = $1', OWNER),
});

const subscribe = (events: string) =>
  database.pool.query(
    `insert into webhooks (account_id, brand_id, url, events, secret_sealed, secret_last4)
     select account_id, id, 'https://hooks.example.com', $2, '', ''
     from brands where account_id = $1`,
    [account.accountId, `{${events}}`],
  );

describe('plain messages that were accepted', () => {
  it('are recorded with the same effects as by the general record', async () => {
    const first = await handOver(3);
    const second = await handOver(2);
    await database.pool.query('update messages set test = true where id = $1', [
      second.outcomes[0]?.messageId,
    ]);
    expect(await recordPlain(first, second)).toBe(true);
    const short = await effects();
    expect(short.messages).toHaveLength(5);
    expect(short.stats).toEqual({ sent: 4 });

    account = await insertAccount(database);
    const general = [await handOver(3), await handOver(2)];
    await database.pool.query('update messages set test = true where id = $1', [
      general[1]?.outcomes[0]?.messageId,
    ]);
    await subscribe('email.bounced');
    await record(...general);
    expect(await effects()).toEqual(short);
  });

  it('are counted by account', async () => {
    const mine = await handOver(2);
    const other = account;
    account = await insertAccount(database);
    const theirs = await handOver(1);
    expect(await recordPlain(theirs, mine)).toBe(true);
    expect((await effects()).outcomes).toMatchObject([{ attempted: 1 }]);
    account = other;
    expect((await effects()).outcomes).toMatchObject([{ attempted: 2 }]);
  });

  it('are locked by id, before their intents', async () => {
    const batch = await handOver(4);
    const first = batch.outcomes[0]?.messageId ?? 0;
    const unlocked = await countUnlockedRows(database.pool, {
      lock: 'select 1 from messages where id = $1 for update',
      values: [first],
      work: () => recordPlain({ ...batch, outcomes: batch.outcomes.toReversed() }),
      probes: [
        `select 1 from messages where account_id = ${account.accountId} for no key update`,
        `select 1 from handovers where seq = ${seq} for update`,
      ],
    });
    expect(unlocked).toEqual([4, 1]);
  });

  it('are recorded once, although the reply to the first commit was lost', async () => {
    const batch = await handOver(2);
    await record(batch);
    const { events: _, ...once } = await effects();
    await record(batch);
    expect(await effects()).toMatchObject(once);
  });
});

describe('the general record takes', () => {
  it('messages whose events a webhook wants, and publishes them', async () => {
    await subscribe('email.sent');
    const batch = await handOver(1);
    expect(await recordPlain(batch)).toBe(false);
    await record(batch);
    const { rows } = await database.pool.query('select type from events where account_id = $1', [
      account.accountId,
    ]);
    expect(rows).toEqual([{ type: 'email.sent' }]);
    expect((await effects()).messages).toMatchObject([{ status: 'sent' }]);
  });

  it('messages of which one has another outcome since', async () => {
    const batch = await handOver(2);
    await database.pool.query(
      `update messages set status = 'bounced', bounced_at = now(), sent_at = now(), sent_attempt = 1 where id = $1`,
      [batch.outcomes[0]?.messageId],
    );
    expect(await recordPlain(batch)).toBe(false);
    expect((await effects()).queue).toHaveLength(2);
    await record(batch);
    expect((await effects()).messages).toMatchObject([{ status: 'bounced' }, { status: 'sent' }]);
    expect((await effects()).outcomes).toMatchObject([{ attempted: 1 }]);
  });

  it('messages that may have arrived at an earlier attempt', async () => {
    const batch = await handOver(1);
    await database.pool.query(`update messages set unknown_at = now() - interval '1 hour' where id = $1`, [
      batch.outcomes[0]?.messageId,
    ]);
    expect(await recordPlain(batch)).toBe(false);
  });

  it('messages that older figures have not reached yet', async () => {
    const batch = await handOver(1);
    await inTransaction(database.pool, async (client) => {
      const { rows } = await client.query('select * from older_stats');
      await client.query('update older_stats set reached_id = 0, last_id = $1', [
        batch.outcomes[0]?.messageId,
      ]);
      expect(await createPlainRecording(client as never, testEvents)([batch])).toBe(false);
      await client.query('update older_stats set reached_id = $1, last_id = $2', [
        (rows[0] as { reached_id: number }).reached_id,
        (rows[0] as { last_id: number }).last_id,
      ]);
    });
    expect(await recordPlain(batch)).toBe(true);
  });

  it.each<[string, (n: number) => HandOverOutcome, (message: BatchMessage) => BatchMessage]>([
    [
      'a message that was deferred',
      () => ({ kind: 'deferred', response: '450 later' }),
      (message) => message,
    ],
    [
      'a message that was delivered at once',
      (n) => ({ ...accepted(n), delivered: true }) as HandOverOutcome,
      (message) => message,
    ],
    ['a message to a possible contact', accepted, (message) => ({ ...message, hasContacts: true })],
    ['a second attempt', accepted, (message) => ({ ...message, attempt: 2 })],
  ])('%s', async (_name, outcomeOf, changed) => {
    const batch = await handOver(1, outcomeOf, changed);
    const before = await effects();
    expect(await recordPlain(batch)).toBe(false);
    expect(await effects()).toEqual(before);
  });
});
