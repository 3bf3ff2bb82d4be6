// Messages are written with content and queue row in the caller's transaction, or refused above a limit.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { messageClasses } from '../../../../src/delivery/terms/message.ts';
import type { NewMessage } from '../../../../src/delivery/ledger/accept/new-message.ts';
import { allocateMessageIds, writeMessages } from '../../../../src/delivery/ledger/accept/write-messages.ts';
import { type Addition, defineWriting } from '../../../../src/delivery/ledger/accept/write-statement.ts';
import { inTransaction, type Queryable } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { plainStatement } from '../../../support/write-statement.ts';

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
    const written = await writeMessages(pool, messages, { statement: plainStatement, source });
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
    await writeMessages(pool, messages, { statement: plainStatement, source });
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
    await writeMessages(pool, messages, { statement: plainStatement, source });
    expect(await select('select content_weight as weight from send_queue order by message_id')).toEqual([
      { weight: '<p>Hi</p>'.length + Buffer.byteLength('Grüße') },
      { weight: 5 * '<p>Hi</p>'.length },
      { weight: 5 * '{"X-A": "b"}'.length },
    ]);
  });

  it('takes the class of messages from their source', async () => {
    await writeMessages(pool, await newEmails(1), {
      statement: plainStatement,
      source: { class: messageClasses.flow, flow_id: 7 },
    });
    await writeMessages(pool, await newEmails(1), {
      statement: plainStatement,
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
      statement: plainStatement,
      source,
    });
    expect(await select('select 1 from messages')).toHaveLength(1);
    expect(await select('select 1 from send_queue')).toEqual([]);
  });

  it('sends from the default address if the message names no sender', async () => {
    await pool.query('update accounts set email_from_name = $2 where id = $1', [account.accountId, 'A "B"']);
    const messages = await newEmails(1, { from_address: null, default_from: 'box@mail.test' });
    const [written] = (await writeMessages(pool, messages, { statement: plainStatement, source })).values();
    expect(written?.from_address).toBe('"A \\"B\\"" <box@mail.test>');
  });

  it('runs in the transaction of the caller', async () => {
    const messages = await newEmails(1);
    const work = inTransaction(test.database.pool, async (client) => {
      await writeMessages(client, messages, { statement: plainStatement, source });
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
    await writeMessages(pool, await newEmails(2), { statement: plainStatement, source, limits: limits(3) });
    const refused = writeMessages(pool, await newEmails(2), {
      statement: plainStatement,
      source,
      limits: limits(3),
    });
    await expect(refused).rejects.toMatchObject({ code: 'sandbox_limit_reached' });
    expect(await select('select 1 from messages')).toHaveLength(2);
    expect(await select('select used from sandbox_usage')).toEqual([{ used: 2 }]);
  });

  it('do not apply to messages that reserve nothing', async () => {
    await writeMessages(pool, await newEmails(2), { statement: plainStatement, source });
    expect(await select('select 1 from sandbox_usage')).toEqual([]);
  });
});

it('writes only the messages that every addition admits, and passes them on', async () => {
  await pool.query('create table noted (id bigint, note text)');
  const addition: Addition = {
    name: 'test_addition',
    fields: { note: 'text' },
    admit: {
      cte: `wanted as (select id from input where note <> 'no')`,
      condition: 'i.id in (table wanted)',
    },
    follow: 'noted_now as (insert into noted select id, note from accepted)',
  };
  const [yes, no] = (await newEmails(2)).map((each, n) => ({ ...each, note: n === 0 ? 'yes' : 'no' }));
  if (!yes || !no) throw new Error('two messages expected');
  const written = await writeMessages(pool, [yes, no], {
    statement: defineWriting({
      from: import.meta.url,
      sentBy: 'it',
      does: 'Writes messages and notes.',
      shapes: [{ additions: [addition], limited: true }],
    }),
    source,
    limits: limits(9),
    additions: [addition],
  });
  expect([...written.keys()]).toEqual([yes.id]);
  expect(await select('select * from noted')).toEqual([{ id: yes.id, note: 'yes' }]);
  expect(await select('select used from sandbox_usage')).toEqual([{ used: 1 }]);
});
