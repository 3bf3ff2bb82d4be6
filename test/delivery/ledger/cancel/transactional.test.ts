// A transactional message is canceled exactly if it waits and no intent covers it, and it returns what it has reserved.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { cancelTransactional, markForRecall } from '../../../../src/delivery/ledger/cancel/cancel.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import { holdReasons } from '../../../../src/delivery/ledger/limits/authority.ts';
import { acceptMessages, allocateMessageIds } from '../../../../src/delivery/ledger/accept/write-messages.ts';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { queueLetter } from '../../../support/letters.ts';
import { insertPayer, monthsOf, setPrice } from '../../../support/money.ts';
import { outcomes } from '../../../support/outcomes.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../../../support/queued.ts';
import { inMinutes, schedule } from '../../../support/scheduled.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { acceptedBy, createWaysOut, type Path, type Waiting } from '../../../support/ways-out.ts';

const OWNER = 70;

let test: TestDatabase;
let ways: ReturnType<typeof createWaysOut>;

const query = <Row extends object>(text: string, ...values: unknown[]) =>
  test.database.pool.query<Row>(text, values);

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true });
});
afterAll(() => test.drop());

beforeEach(async () => {
  await query('truncate processes, handovers, prices, account_months cascade');
  await insertSender(test.database, OWNER);
  ways = createWaysOut(test.database, OWNER);
});

const cancel = (accountId: number, ids: readonly number[], recall = false) =>
  inTransaction(test.database.pool, (trx) =>
    cancelTransactional(trx, accountId, ids, { reason: 'canceled by a request', recall }),
  );

const claim = ({ accountId, channel, queue = channel }: Pick<Waiting, 'accountId' | 'channel' | 'queue'>) =>
  claimBacklog(
    test.database.pool,
    { channel, queue, class: messageClasses.transactional, accountId, owner: OWNER, quantum: 50 },
    TEST_LIMITS,
  );

/** What the queue and the message say. */
async function stateOf(messageId: number) {
  const { rows } = await query<{ status: string; queued: boolean }>(
    `select m.status, m.hold, m.failure, exists (select 1 from send_queue q where q.message_id = m.id) as queued
     from messages m where id = $1`,
    messageId,
  );
  return rows[0];
}

const hold =
  (reason: string) =>
  async ({ messageId }: Waiting) => {
    await query('update messages set status = $2, hold = $3 where id = $1', messageId, 'held', { reason });
    await query(
      `update send_queue set held = true, due_at = now() + interval '1 day' where message_id = $1`,
      messageId,
    );
  };

const record = (outcome: keyof typeof outcomes) => async (waiting: Waiting) => {
  const given = await ways.handOver('general', waiting);
  await ways.record(given(() => outcomes[outcome]));
};

interface State {
  name: string;
  expected: string;
  path?: Path;
  prepare?: (waiting: Waiting) => Promise<unknown>;
  recall?: true;
}

const states: State[] = [
  { name: 'queued', expected: 'canceled' },
  { name: 'a queued text', expected: 'canceled', path: 'text' },
  {
    name: 'scheduled',
    expected: 'canceled',
    prepare: ({ messageId }) => schedule(test.database.pool, [messageId], inMinutes(60)),
  },
  ...holdReasons.map((reason) => ({ name: `held: ${reason}`, expected: 'canceled', prepare: hold(reason) })),
  { name: 'claimed', expected: 'claimed', prepare: claim },
  { name: 'claimed, of an account that is not marked', expected: 'claimed', prepare: claim, recall: true },
  {
    name: 'claimed, and recalled',
    expected: 'canceled',
    recall: true,
    async prepare(waiting) {
      await claim(waiting);
      await markForRecall(test.database.pool, waiting.accountId);
    },
  },
  {
    name: 'claimed by a process of an earlier version',
    expected: 'unchecked',
    recall: true,
    async prepare(waiting) {
      await query('update processes set checks_claims = false');
      await claim(waiting);
      await markForRecall(test.database.pool, waiting.accountId);
    },
  },
  {
    name: 'intended',
    expected: 'sending',
    recall: true,
    async prepare(waiting) {
      await ways.handOver('general', waiting);
      await markForRecall(test.database.pool, waiting.accountId);
    },
  },
  { name: 'of a sender that died', expected: 'unknown', path: 'after a crash' },
  { name: 'retried after a refusal', expected: 'canceled', prepare: record('deferred') },
  {
    name: 'retried after an attempt without an outcome, and then a refusal',
    expected: 'unknown',
    path: 'after a crash',
    async prepare(waiting) {
      await record('deferred')(waiting);
      await query(`update messages set status = 'queued' where id = $1`, waiting.messageId);
    },
  },
  {
    name: 'sent',
    expected: 'left',
    prepare: async (waiting) =>
      ways.record((await ways.handOver('general', waiting))((message) => acceptedBy(message))),
  },
  { name: 'failed', expected: 'ended', prepare: record('refused') },
  { name: 'of a flow', expected: 'other_class', path: 'flow' },
  { name: 'of a campaign', expected: 'other_class', path: 'block' },
  {
    name: 'of another account',
    expected: 'missing',
    prepare: async (waiting) => (waiting.accountId += 1_000_000),
  },
];

describe('a message', () => {
  it.each(states)(
    'that is $name: $expected',
    async ({ expected, path = 'general', prepare, recall = false }) => {
      const waiting = await ways.write(path);
      await prepare?.(waiting);
      const before = await stateOf(waiting.messageId);
      const found = await cancel(waiting.accountId, [waiting.messageId], recall);
      expect(found.get(waiting.messageId) ?? 'missing').toBe(expected);
      const failure = { code: 'canceled', message: 'canceled by a request' };
      const canceled = { status: 'canceled', hold: null, failure, queued: false };
      expect(await stateOf(waiting.messageId)).toEqual(expected === 'canceled' ? canceled : before);
    },
  );

  it('of a test key is canceled if it has no outcome yet', async () => {
    const { accountId, messageId } = await ways.write('general');
    await query(
      `with q as (delete from send_queue where message_id = $1), m as (update messages set test = true, provider = 'test' where id = $1)
       insert into test_messages (message_id, account_id, ends_at) values ($1, $2, now() + interval '1 hour')`,
      messageId,
      accountId,
    );
    expect([...(await cancel(accountId, [messageId])).values()]).toEqual(['canceled']);
    expect((await query('select ends_at from test_messages where message_id = $1', messageId)).rows).toEqual([
      { ends_at: null },
    ]);
    expect([...(await cancel(accountId, [messageId])).values()]).toEqual(['ended']);
  });
});

describe('a letter', () => {
  const recipients = ['a', 'b', 'c'].map((name) => ({ kind: 'to' as const, address: `${name}@example.com` }));
  const ofLetter = { channel: 'email', queue: 'email_whole' } as const;

  it('is canceled with the copies that wait, and without those that ended unsent', async () => {
    const of = await insertAccount(test.database);
    const ids = await queueLetter(test.database, of, { recipients });
    await cancel(of.accountId, ids.slice(2));
    await claim({ ...of, ...ofLetter });
    expect([...(await cancel(of.accountId, ids)).values()]).toEqual(['claimed', 'claimed', 'ended']);
    await markForRecall(test.database.pool, of.accountId);
    expect([...(await cancel(of.accountId, ids, true)).values()]).toEqual(['canceled', 'canceled', 'ended']);
    expect((await query('select from send_queue where message_id = any($1)', ids)).rowCount).toBe(0);
  });

  it('stays as it is if one copy has left', async () => {
    const of = await insertAccount(test.database);
    const ids = await queueLetter(test.database, of, { recipients });
    await query(
      `update send_queue set due_at = now() + interval '1 hour' where message_id = any($1)`,
      ids.slice(0, 2),
    );
    const waiting = { ...of, messageId: ids[2] ?? 0, ...ofLetter, providerId: 0 };
    await ways.record((await ways.handOver('letter', waiting))((message) => acceptedBy(message)));
    expect((await cancel(of.accountId, ids)).get(waiting.messageId)).toBe('left');
    expect((await query('select from send_queue where message_id = any($1)', ids)).rowCount).toBe(2);
    expect((await stateOf(ids[0] ?? 0))?.status).toBe('queued');
  });
});

describe('what a canceled message has reserved', () => {
  /** Accepts emails from the sandbox with their price, and texts. */
  async function accept(
    of: QueuedAccount,
    channel: 'email' | 'sms',
    count: number,
    domainId: number | null = null,
  ) {
    const ids = await allocateMessageIds(test.database.pool, count);
    const to = channel === 'email' ? 'a@example.com' : '+4915112345678';
    const messages = ids.map((id) => ({
      ...{
        id,
        account_id: of.accountId,
        brand_id: of.brandId,
        channel,
        status: 'queued' as const,
        test: false,
      },
      ...{ to_address: to, to_key: to, from_address: 'x@mail.test', text: 'Hi', domain_id: domainId },
      ...(channel === 'sms' ? { segments: 2 } : {}),
    }));
    const source = { class: messageClasses.transactional } as const;
    await acceptMessages(test.database.pool, messages, { source, limits: TEST_LIMITS, money: 'reserve' });
    return ids;
  }

  const sandboxOf = async ({ accountId }: QueuedAccount) =>
    (
      await query<{ used: number }>(
        'select used from sandbox_usage where account_id = $1 order by month',
        accountId,
      )
    ).rows.map(({ used }) => used);

  it('is returned: price, free units, segments, allowance and sandbox', async () => {
    await setPrice(test.database, 100);
    await setPrice(test.database, 700, { country: 'DE' });
    const of = await insertPayer(test.database, { funds: 1_000_000, free: 2 });
    const emails = await accept(of, 'email', 3);
    const texts = await accept(of, 'sms', 2);
    expect(await monthsOf(test.database, of)).toEqual({
      emails: 3,
      free: 2,
      texts: 4,
      spent: 100 + 2 * 2 * 700,
    });
    expect(await sandboxOf(of)).toEqual([3]);
    await claim({ ...of, channel: 'email' });
    await query('update send_queue set owner = null');
    const used = async () =>
      (
        await query(
          'select sum(used)::int as used from allowance_buckets where account_id = $1',
          of.accountId,
        )
      ).rows;
    expect(await used()).toEqual([{ used: 3 }]);
    await cancel(of.accountId, [...emails.slice(1), ...texts.slice(1)]);
    expect(await monthsOf(test.database, of)).toEqual({ emails: 1, free: 1, texts: 2, spent: 2 * 700 });
    expect(await sandboxOf(of)).toEqual([1]);
    expect(await used()).toEqual([{ used: 1 }]);
    await cancel(of.accountId, [...emails, ...texts]);
    expect(await monthsOf(test.database, of)).toEqual({ emails: 0, free: 0, texts: 0, spent: 0 });
    expect(await sandboxOf(of)).toEqual([0]);
  });

  it('is returned to the present month if that of its acceptance is posted, and to the sandbox of its own', async () => {
    await setPrice(test.database, 100);
    const of = await insertPayer(test.database, { funds: 1_000_000 });
    const [id = 0] = await accept(of, 'email', 1);
    const { rows } = await query<{ month: string }>(
      `with m as (select (current_month() - interval '2 months')::date as month),
         q as (update send_queue set price_month = month from m where message_id = $1),
         c as (update messages set created_at = month + interval '3 days' from m where id = $1),
         s as (update sandbox_usage set month = m.month from m where account_id = $2),
         a as (update account_months set month = m.month, posted_at = now() from m where account_id = $2)
       select month::text from m`,
      id,
      of.accountId,
    );
    await cancel(of.accountId, [id]);
    const months = await query(
      `select month = $2 as former, email_units, spent_millicents from account_months where account_id = $1 order by month`,
      of.accountId,
      rows[0]?.month,
    );
    expect(months.rows).toEqual([
      { former: true, email_units: 1, spent_millicents: 100 },
      { former: false, email_units: -1, spent_millicents: -100 },
    ]);
    expect(await sandboxOf(of)).toEqual([0]);
  });

  it('leaves the sandbox alone if it had a sending domain, and never makes it negative', async () => {
    const of = await insertPayer(test.database);
    const ids = await accept(of, 'email', 2);
    await query('update send_queue set domain_id = 5 where message_id = $1', ids[0]);
    await cancel(of.accountId, ids.slice(0, 1));
    expect(await sandboxOf(of)).toEqual([2]);
    await query('update sandbox_usage set used = 0 where account_id = $1', of.accountId);
    await cancel(of.accountId, ids.slice(1));
    expect(await sandboxOf(of)).toEqual([0]);
  });
});
