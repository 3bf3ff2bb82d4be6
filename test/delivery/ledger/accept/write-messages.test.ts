// Messages are written with content and queue row in the caller's transaction, or refused above a limit.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import type { NewMessage } from '../../../../src/delivery/ledger/accept/new-message.ts';
import { writeFunction, writeUnpriced } from '../../../../src/delivery/ledger/accept/write-sql.ts';
import {
  acceptMessages,
  type AcceptedMessage,
  allocateMessageIds,
  writeMessages,
  type WriteOptions,
} from '../../../../src/delivery/ledger/accept/write-messages.ts';
import type { AcceptRule } from '../../../../src/delivery/ledger/limits/limit.ts';
import { fingerprintOf } from '../../../../src/platform/db/idempotency.ts';
import { inTransaction, type Queryable } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertPayer, setPrice } from '../../../support/money.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';

const source = { class: messageClasses.transactional };

let test: TestDatabase;
let pool: Queryable;
let account: QueuedAccount;

beforeAll(async () => {
  test = await createTestDatabase();
  pool = test.database.pool;
});
afterAll(() => test.drop());
beforeEach(async () => {
  await pool.query('truncate messages, message_contents, send_queue, sandbox_usage');
  account = await insertAccount(test.database);
});

async function newEmails(count: number, rest: Partial<NewMessage> = {}): Promise<NewMessage[]> {
  const ids = await allocateMessageIds(pool, count);
  return ids.map((id) => ({
    id,
    account_id: account.accountId,
    brand_id: account.brandId,
    channel: 'email',
    status: 'queued',
    test: false,
    to_address: 'Ada <ada@example.com>',
    to_key: 'ada@example.com',
    from_address: 'shop@example.com',
    subject: 'Hello',
    html: '<p>Hi</p>',
    ...rest,
  }));
}

async function select(sql: string): Promise<Record<string, unknown>[]> {
  return (await pool.query(sql)).rows;
}

const limits = (cap: number) => ({ sandbox_monthly_cap: cap });

describe('writing messages', () => {
  it('writes each message with its content and a queue row', async () => {
    const messages = await newEmails(2, { headers: { 'X-A': 'b' } });
    const written = await writeMessages(pool, messages, { source });
    expect([...written.keys()]).toEqual(messages.map((each) => each.id));
    expect(written.get(messages[0]?.id ?? 0)).toMatchObject({ from_address: 'shop@example.com' });
    const rows = await select(
      `select m.to_key, m.subject, m.class, c.html, c.text, c.headers, q.account_id, q.class as queued_class,
         q.due_at = m.created_at and q.queued_at = m.created_at as due_at_once
       from messages m join message_contents c on c.message_id = m.id join send_queue q on q.message_id = m.id`,
    );
    expect(rows).toHaveLength(2);
    expect(rows[0]).toEqual({
      to_key: 'ada@example.com',
      subject: 'Hello',
      class: 0,
      html: '<p>Hi</p>',
      text: null,
      headers: { 'X-A': 'b' },
      account_id: account.accountId,
      queued_class: 0,
      due_at_once: true,
    });
  });

  it('stores the size of each content in its queue row', async () => {
    const [both] = await newEmails(1, { text: 'Grüße' });
    const [none] = await newEmails(1, { html: null });
    const [headers] = await newEmails(1, { html: null, headers: { 'X-A': 'b' } });
    const messages = [both, none, headers].flatMap((message) => message ?? []);
    await writeMessages(pool, messages, { source });
    expect(await select('select content_bytes as bytes from send_queue order by message_id')).toEqual([
      { bytes: '<p>Hi</p>'.length + Buffer.byteLength('Grüße') },
      { bytes: 0 },
      { bytes: '{"X-A": "b"}'.length },
    ]);
  });

  it('stores the composing weight of each content in its queue row', async () => {
    const [both] = await newEmails(1, { text: 'Grüße' });
    const [html] = await newEmails(1);
    const [headers] = await newEmails(1, { html: null, headers: { 'X-A': 'b' } });
    const messages = [both, html, headers].flatMap((message) => message ?? []);
    await writeMessages(pool, messages, { source });
    expect(await select('select content_weight as weight from send_queue order by message_id')).toEqual([
      { weight: '<p>Hi</p>'.length + Buffer.byteLength('Grüße') },
      { weight: 5 * '<p>Hi</p>'.length },
      { weight: 5 * '{"X-A": "b"}'.length },
    ]);
  });

  it('takes the class of messages from their source', async () => {
    await writeMessages(pool, await newEmails(1), {
      source: { class: messageClasses.flow, flow_id: 7 },
    });
    await writeMessages(pool, await newEmails(1), {
      source: { class: messageClasses.campaign, campaign_id: 8 },
    });
    expect(
      await select(
        'select m.class, m.flow_id, m.campaign_id, q.class as queued from messages m join send_queue q on message_id = id order by id',
      ),
    ).toEqual([
      { class: 1, flow_id: 7, campaign_id: null, queued: 1 },
      { class: 2, flow_id: null, campaign_id: 8, queued: 2 },
    ]);
  });

  it('queues no message whose state is final', async () => {
    await writeMessages(pool, await newEmails(1, { status: 'skipped' }), {
      source,
    });
    expect(await select('select 1 from messages')).toHaveLength(1);
    expect(await select('select 1 from send_queue')).toEqual([]);
  });

  it('sends from the default address if the message names no sender', async () => {
    await pool.query('update accounts set email_from_name = $2 where id = $1', [account.accountId, 'A "B"']);
    const messages = await newEmails(1, { from_address: null, default_from: 'box@mail.test' });
    const [written] = (await writeMessages(pool, messages, { source })).values();
    expect(written?.from_address).toBe('"A \\"B\\"" <box@mail.test>');
  });

  it('runs in the transaction of the caller', async () => {
    const messages = await newEmails(1);
    const work = inTransaction(test.database.pool, async (client) => {
      await writeMessages(client, messages, { source });
      throw new Error('something else failed');
    });
    await expect(work).rejects.toThrow('something else failed');
    expect(
      await select(
        'select id from messages union all select message_id from message_contents union all select message_id from send_queue',
      ),
    ).toEqual([]);
  });
});

describe('limits at accept', () => {
  it('count the messages and refuse all of them above the limit', async () => {
    await writeMessages(pool, await newEmails(2), { source, limits: limits(3) });
    const refused = writeMessages(pool, await newEmails(2), {
      source,
      limits: limits(3),
    });
    await expect(refused).rejects.toMatchObject({ code: 'sandbox_limit_reached' });
    expect(await select('select 1 from messages')).toHaveLength(2);
    expect(await select('select used from sandbox_usage')).toEqual([{ used: 2 }]);
  });

  it('do not apply to messages that reserve nothing', async () => {
    await writeMessages(pool, await newEmails(2), { source });
    expect(await select('select 1 from sandbox_usage')).toEqual([]);
  });
});

describe('the outcome of each message', () => {
  const outcomesOf = async (messages: AcceptedMessage[], options: Partial<WriteOptions> = {}) => {
    const outcomes = await acceptMessages(pool, messages, { source, ...options });
    return messages.map(({ id }) => {
      const outcome = outcomes.get(id);
      return outcome?.kind === 'refused' ? outcome.error.code : outcome?.kind;
    });
  };
  const keyed = (message: NewMessage, key: string, payload = 'payload'): AcceptedMessage => ({
    ...message,
    key: { endpoint: 'POST /test', key, fingerprint: fingerprintOf(payload) },
  });

  it('says whether its key was taken by the same request, by another, or by none', async () => {
    const [first, ...others] = (await newEmails(4)) as [NewMessage, NewMessage, NewMessage, NewMessage];
    expect(await outcomesOf([keyed(first, 'one')])).toEqual(['written']);
    const [same, different, none] = others;
    const group = [keyed(same, 'one'), keyed(different, 'one', 'other'), keyed(none, 'two')];
    expect(await outcomesOf(group, { limits: limits(9) })).toEqual(['replayed', 'conflict', 'written']);
    // Only what is written is counted.
    expect(await select('select used from sandbox_usage')).toEqual([{ used: 1 }]);
    expect(await select('select count(*)::int as count from messages')).toEqual([{ count: 2 }]);
  });

  it('leaves out what costs something, with its key, and writes the rest', async () => {
    await setPrice(test.database, 100, { tier: 'paid' });
    const payer = await insertPayer(test.database);
    await pool.query(`update accounts set tier = 'paid' where id = $1`, [payer.accountId]);
    const [free, costly, gone] = (await newEmails(3)) as [NewMessage, NewMessage, NewMessage];
    const messages = [
      free,
      keyed({ ...costly, account_id: payer.accountId, brand_id: payer.brandId }, 'costly'),
      { ...gone, account_id: 999_999_999 },
    ];
    expect(await outcomesOf(messages, { money: 'leave_out' })).toEqual(['written', 'pays', 'pays']);
    expect(await select('select key from idempotency_keys')).not.toContainEqual({ key: 'costly' });
    expect(await outcomesOf(messages.slice(1), { money: 'reserve', limits: TEST_LIMITS })).toEqual([
      'insufficient_funds',
      'missing',
    ]);
  });

  it('is the error of the first refused message if all are to be written', async () => {
    await setPrice(test.database, 100, { tier: 'paid' });
    const payer = await insertPayer(test.database, { funds: 100 });
    await pool.query(`update accounts set tier = 'paid' where id = $1`, [payer.accountId]);
    const messages = await newEmails(2, { account_id: payer.accountId, brand_id: payer.brandId });
    const work = inTransaction(test.database.pool, (trx) =>
      writeMessages(trx, messages, { source, money: 'reserve', limits: TEST_LIMITS }),
    );
    await expect(work).rejects.toMatchObject({ code: 'insufficient_funds' });
    expect(await select('select 1 from messages')).toEqual([]);
  });
});

it('counts in the limits of another table', async () => {
  const rule: AcceptRule = {
    code: 'rate_limited',
    message: 'too many on one day',
    sqlstate: 'CL009',
    reserve: ({ messages }) => [
      {
        name: 'noted',
        sql: `
          insert into noted select account_id, channel, domain_id from ${messages}
          returning domain_id as refused`,
      },
    ],
    refusals: 'noted',
    takes: () => 1,
    left: () => 'null',
  };
  await pool.query('create table noted (account_id bigint, channel text, domain_id bigint)');
  const { name, text } = writeFunction.filled([rule]);
  await pool.query(text);
  const [message] = await newEmails(1, { domain_id: 5 });
  await pool.query(
    `select * from ${name}($1, $2, $3, $4, null, null, null, null, null, null, null, $5, null, null, null, false, false, false, true, '{}', null)`,
    [JSON.stringify([{ ...message, ...source }]), [message?.id], [message?.account_id], ['email'], [5]],
  );
  expect(await select('select * from noted')).toEqual([
    { account_id: account.accountId, channel: 'email', domain_id: 5 },
  ]);
  await pool.query(`drop function ${name}`);
});

it('counts messages without a price in the limits of another table', async () => {
  await pool.query('create table counted (account_id bigint, channel text, kind text)');
  const rule: AcceptRule = {
    code: 'rate_limited',
    message: 'too many on one day',
    sqlstate: 'CL009',
    reserve: ({ messages }) => [
      {
        name: 'noted',
        sql: `insert into counted select account_id, channel, kind from ${messages} returning null as refused`,
      },
    ],
    refusals: 'noted',
    takes: () => 1,
    left: () => 'null',
  };
  const statement = writeUnpriced.filled([rule]);
  const [message] = await newEmails(1);
  await pool.query({ ...statement, values: [JSON.stringify([{ ...message, ...source }]), null, '{}'] });
  expect(await select('select * from counted')).toEqual([
    { account_id: account.accountId, channel: 'email', kind: 'customer' },
  ]);
});
