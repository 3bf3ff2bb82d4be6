// The messages of many runs are decided and written together as each would be alone, and limits refuse the surplus.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { keepUnapplied } from '../../../../src/delivery/ledger/consent/unapplied-opt-outs.ts';
import { optOutHashes, recordOptOut } from '../../../../src/delivery/ledger/consent/opt-outs.ts';
import { advanceBatch } from '../../../../src/features/flows/run/batch.ts';
import { findCapped } from '../../../../src/features/flows/run/frequency.ts';
import { firstRecord } from '../../../../src/features/flows/run/interpreter.ts';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { createFlowVersionReader } from '../../../../src/features/flows/versions.ts';
import { insertFlowVersion, pathOf } from '../../../support/flow-runs.ts';
import { foldFlowCounts, readFlowCounts } from '../../../../src/features/flows/counts.ts';
import {
  type FlowSender,
  lockFrequency,
  type SendingRun,
  type SendRequest,
} from '../../../../src/features/flows/run/send.ts';
import { inTransaction, type Queryable } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { testFlowSender, type WrittenFlow, writeFlow } from '../../../support/flow-sends.ts';
import { setPrice } from '../../../support/money.ts';
import { insertAccount, type QueuedAccount } from '../../../support/queued.ts';
import { countWaiting } from '../../../support/waiting.ts';
import { testKeyring } from '../../../support/webhooks.ts';

let test: TestDatabase;
let account: QueuedAccount;
let flow: WrittenFlow;
let sender: FlowSender;

beforeAll(async () => {
  test = await createTestDatabase();
});
afterAll(() => test.drop());
beforeEach(async () => {
  await query('delete from prices');
  account = await insertAccount(test.database);
  flow = await writeFlow(test.database, account, [{}, { channel: 'sms' }, { fromEmail: 'hi@other.test' }]);
  sender = testFlowSender({ plusAddresses: true });
});

const query = async <Row = Record<string, unknown>>(sql: string, values: unknown[] = []) =>
  (await test.database.pool.query<Row & Record<string, unknown>>(sql, values)).rows;

interface Explained {
  'QUERY PLAN': { Plan: { 'Shared Hit Blocks': number } }[];
}

/** Inserts runs, each of a separate contact. @returns their requests for a message by email, by the ids of the runs */
async function requestsOf(count: number, stepId = 1): Promise<SendRequest[]> {
  const rows = await query<SendingRun>(
    `with people as (
       insert into contacts (account_id, brand_id, email, email_key, email_subscribed, email_created_at,
         phone, phone_subscribed, phone_created_at)
       select $1, $2, email, email, true, now(), phone, true, now()
       from generate_series(1, $4) n, lateral (
         select 'p' || n || '.' || $3::bigint || '@example.com' as email, '+49151' || 1000000 * $3::bigint + n as phone) a
       returning id)
     insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, record)
     select $1, $2, $3::bigint, 1, id, 'l1', '{}' from people order by id
     returning id, account_id, brand_id, flow_id, contact_id, test, event`,
    [account.accountId, account.brandId, flow.flowId, count],
  );
  return rows.map((run) => ({ run, step: { id: stepId, channel: 'email' } }));
}

/** Decides about requests and writes their messages, in a separate transaction. */
async function sendAll(requests: readonly SendRequest[], asOf = new Date()) {
  const backlogs: string[] = [];
  const sends = sender({ onQueued: (backlog) => void backlogs.push(backlog) });
  const { results, refused } = await inTransaction(test.database.pool, async (trx) => ({
    results: await sends.decide(trx, requests, asOf),
    refused: await sends.write(trx),
  }));
  return { results, refused, backlogs };
}

/** Runs the work in a transaction that is rolled back. */
async function undone<T>(work: (trx: Queryable) => Promise<T>): Promise<T> {
  const trx = await test.database.pool.connect();
  try {
    await trx.query('begin');
    return await work(trx);
  } finally {
    await trx.query('rollback');
    trx.release();
  }
}

const messagesOfRuns = async (requests: readonly SendRequest[]) =>
  (
    await query<{ flow_run_id: number }>(
      'select flow_run_id from messages where flow_run_id = any($1) order by flow_run_id',
      [requests.map(({ run }) => run.id)],
    )
  ).map((row) => row.flow_run_id);

const countsOf = async (flowId: number) => {
  while (await foldFlowCounts(test.database.pool));
  const counts = await readFlowCounts(test.database.pool, flowId, { from: null, to: null });
  return Object.fromEntries(counts.map(({ stepId, name, count }) => [`${stepId} ${name}`, count]));
};

const sandboxLeft = (left: number) =>
  query('update accounts set sandbox_monthly_cap = $2 where id = $1', [account.accountId, left]);

const refusedBySandbox = { outcome: 'failed', detail: { reason: 'sandbox_limit_reached' } };

describe('the messages of many runs', () => {
  it('are written by the statements that one message takes', async () => {
    const requests = await requestsOf(200);
    const texts: string[] = [];
    const sends = sender({ onQueued: () => {} });
    await inTransaction(test.database.pool, async (trx) => {
      const counted: Queryable = {
        query: ((config: { text: string }) => {
          texts.push(config.text);
          return trx.query(config);
        }) as Queryable['query'],
      };
      await sends.decide(counted, requests, new Date());
      expect(sends.unwritten).toEqual(new Set(requests.map(({ run }) => run.id)));
      expect(await messagesOfRuns(requests)).toEqual([]);
      await sends.write(counted);
    });
    expect(sends.unwritten.size).toBe(0);
    expect(await messagesOfRuns(requests)).toEqual(requests.map(({ run }) => run.id));
    expect(texts.length).toBeLessThanOrEqual(5);
    expect(await countsOf(flow.flowId)).toEqual({ '1 accepted': 200 });
  });

  it('are decided as each of them alone', async () => {
    const requests = await requestsOf(60);
    const { accountId, brandId } = account;
    await query(`update brands set frequency_cap = '{"count": 2, "per_seconds": 3600}' where id = $1`, [
      brandId,
    ]);
    await setPrice(test.database, 1_000, { country: 'FR' });
    const nth = (n: number) => requests.filter((_, index) => index % 11 === n);
    const contacts = (some: readonly SendRequest[]) => some.map(({ run }) => run.contact_id);
    const update = (set: string, some: readonly SendRequest[]) =>
      query(`update contacts set ${set} where id = any($1)`, [contacts(some)]);
    await query('delete from contacts where id = any($1)', [contacts(nth(0))]);
    await update('email = null, email_key = null, email_subscribed = false', nth(1));
    await update('email_subscribed = false', nth(2));
    const tagged = `'x' || id || '+tag@example.com'`;
    await update(`email = ${tagged}, email_key = ${tagged}`, nth(3));
    await query(
      `insert into suppressions (account_id, address_key, email, reason)
       select $1, key, key, 'hard_bounce' from contacts, replace(email_key, '+tag', '+news') as key
       where id = any($2) or (id = any($3) and id % 2 = 0)`,
      [accountId, contacts(nth(4)), contacts(nth(3))],
    );
    for (const { run } of nth(5)) {
      const [{ email = '' } = {}] = await query<{ email: string }>(
        'select email from contacts where id = $1',
        [run.contact_id],
      );
      const address = { brandId, channel: 'email', address: email } as const;
      await recordOptOut(test.database.pool, testKeyring, {
        ...{ ...address, accountId, source: 'one_click', messageId: null },
      });
      await keepUnapplied(test.database.pool, address, optOutHashes(testKeyring, address)[0] as Buffer);
    }
    // The frequency cap counts messages to both addresses. Half of these contacts have had one only.
    await query(
      `insert into messages (account_id, brand_id, channel, class, status, to_address, to_key, sent_at)
       select $1, $2, 'sms', 1, 'sent', phone, phone, now() from contacts, generate_series(1, 1 + id % 2)
       where id = any($3)`,
      [accountId, brandId, contacts(nth(6))],
    );
    for (const { step } of nth(7)) step.id = 3;
    for (const { step } of nth(8)) step.id = 99;
    for (const { step } of nth(9)) Object.assign(step, { id: 2, channel: 'sms' });
    for (const { run } of nth(10)) {
      const mail = { conversation_message_id: 1, inbox_id: 7, auto_submitted: run.id % 2 === 0 };
      run.event = { mail };
    }

    const asOf = new Date();
    const withoutIds = (results: object[]) => results.map((result) => ({ ...result, messageId: undefined }));
    const together = await undone((trx) => sender({ onQueued: () => {} }).decide(trx, requests, asOf));
    const alone = [];
    for (const request of requests) {
      alone.push(...(await undone((trx) => sender({ onQueued: () => {} }).decide(trx, [request], asOf))));
    }
    expect(withoutIds(together)).toEqual(withoutIds(alone));
    const reasons = together.map((result) =>
      'exit' in result ? result.exit : String(result.detail?.reason ?? result.outcome),
    );
    const expected = ['contact_deleted', 'no_address', 'unsubscribed', 'suppressed', 'frequency_cap'];
    const others = ['sender_not_verified', 'content_rejected', 'no_price', 'automatic_mail', 'sent'];
    expect(new Set(reasons)).toEqual(new Set([...expected, ...others]));
    expect(reasons.filter((reason) => reason === 'unsubscribed')).toHaveLength(11);
  });

  it('write those of test runs, too, each with its outcome and without a backlog', async () => {
    const requests = await requestsOf(4);
    for (const { run } of requests.slice(2)) run.test = true;
    const { results, backlogs } = await sendAll(requests);
    expect(results.map((result) => 'outcome' in result && result.outcome)).toEqual(Array(4).fill('sent'));
    expect(backlogs).toEqual([`email/1/${account.accountId}`]);
    expect(await query('select status from messages where flow_id = $1 order by id', [flow.flowId])).toEqual([
      ...[{ status: 'queued' }, { status: 'queued' }, { status: 'delivered' }, { status: 'delivered' }],
    ]);
    expect(await countsOf(flow.flowId)).toEqual({ '1 accepted': 2 });
  });
});

describe('a limit that has too little left', () => {
  it('refuses the messages of the last runs, and undoes nothing else', async () => {
    await sandboxLeft(120);
    const requests = await requestsOf(200);
    const ids = requests.map(({ run }) => run.id);
    const sends = sender({ onQueued: () => {} });
    const { results, refused } = await inTransaction(test.database.pool, async (trx) => {
      await trx.query('update flow_runs set moved = true where id = $1', [ids[0]]);
      // In any order of the requests.
      const decided = await sends.decide(trx, requests.toReversed(), new Date());
      return { results: decided.toReversed(), refused: await sends.write(trx) };
    });
    expect(await messagesOfRuns(requests)).toEqual(ids.slice(0, 120));
    expect(results.slice(0, 120).every((result) => 'messageId' in result)).toBe(true);
    expect(results.slice(120)).toEqual(Array(80).fill(refusedBySandbox));
    expect(refused.map(({ runId }) => runId).toSorted((one, other) => one - other)).toEqual(ids.slice(120));
    expect(refused[0]).toMatchObject({ stepId: 1, reason: 'sandbox_limit_reached' });
    expect(await query('select used from sandbox_usage where account_id = $1', [account.accountId])).toEqual([
      { used: 120 },
    ]);
    expect(await query('select 1 from flow_runs where id = $1 and moved', [ids[0]])).toHaveLength(1);
    expect(await countsOf(flow.flowId)).toEqual({ '1 accepted': 120, '1 failed:sandbox_limit_reached': 80 });
  });

  it('lets two transactions write no more than it has left, each for its first runs', async () => {
    await sandboxLeft(120);
    const requests = await requestsOf(200);
    const [first, second] = [requests.slice(0, 100), requests.slice(100)];
    let other: Promise<unknown> = Promise.resolve();
    await inTransaction(test.database.pool, async (trx) => {
      const sends = sender({ onQueued: () => {} });
      await sends.decide(trx, first, new Date());
      await sends.write(trx);
      // It reads what was left before these messages, and then waits for the counter.
      other = sendAll(second);
      await eventually(async () => expect(await countWaiting(test.database.pool)).toBe(1));
    });
    await other;
    expect(await messagesOfRuns(requests)).toEqual(requests.slice(0, 120).map(({ run }) => run.id));
    expect(await countsOf(flow.flowId)).toEqual({ '1 accepted': 120, '1 failed:sandbox_limit_reached': 80 });
  });

  it('concerns no messages that it does not count, such as SMS', async () => {
    await sandboxLeft(1);
    const requests = await requestsOf(6);
    for (const { step } of requests.slice(3)) Object.assign(step, { id: 2, channel: 'sms' });
    const { refused } = await sendAll(requests);
    expect(refused.map(({ runId }) => runId)).toEqual([requests[1]?.run.id, requests[2]?.run.id]);
    expect(await messagesOfRuns(requests)).toHaveLength(4);
  });
});

it('runs with two messages in one transaction count the first ones towards the cap', async () => {
  await sandboxLeft(2);
  await query(`update brands set frequency_cap = '{"count": 1, "per_seconds": 3600}' where id = $1`, [
    account.brandId,
  ]);
  const { pool } = test.database;
  const steps: Step[] = [
    { type: 'email', id: 1, template_id: 1 },
    { type: 'email', id: 4, template_id: 1 },
  ];
  await query(
    'insert into flow_contents select flow_id, 4, template_id, version_id from flow_contents where flow_id = $1 and step_id = 1',
    [flow.flowId],
  );
  const versionId = await insertFlowVersion(pool, flow.flowId, { steps });
  const ids = (await requestsOf(3)).map(({ run }) => run.id);
  await query('update flow_runs set version_id = $2, record = $3, cohort_id = 1 where id = any($1)', [
    ...[ids, versionId, JSON.stringify(firstRecord(new Date()))],
  ]);
  const woken: unknown[] = [];
  const deps = {
    ...{ pool, versions: createFlowVersionReader(pool), send: sender, consumers: [] },
    waker: { wake: (role: string, backlogs: unknown) => void woken.push([role, backlogs]) },
    log: pino({ level: 'silent' }),
  };
  expect(await advanceBatch(deps, ids, 'acts', new Date())).toMatchObject({ advanced: 3 });
  expect(await Promise.all(ids.map((id) => pathOf(pool, id)))).toEqual([
    ...[
      ['1 sent', '4 skipped'],
      ['1 sent', '4 skipped'],
      ['1 failed', '4 failed'],
    ],
  ]);
  expect(woken).toEqual([['send', [`email/1/${account.accountId}`]]]);
  expect(await countsOf(flow.flowId)).toMatchObject({
    ...{ '1 accepted': 2, '1 failed:sandbox_limit_reached': 1 },
    ...{ '4 skipped:frequency_cap': 2, '4 failed:sandbox_limit_reached': 1 },
  });
});

it('the frequency cap reads only the messages of its contacts, even before the table has statistics', async () => {
  const requests = await requestsOf(100);
  await query(
    `insert into messages (account_id, brand_id, channel, class, status, to_address, to_key, sent_at)
     select $1, $2, 'email', 1, 'sent', key, key, now() from generate_series(1, 3000) n, concat('m', n, '@example.com') key`,
    [account.accountId, account.brandId],
  );
  const blocks: number[] = [];
  const explained = {
    async query({ text, values }: { text: string; values: unknown[] }) {
      const rows = await query<Explained>(`explain (analyze, buffers, format json) ${text}`, values);
      blocks.push(rows[0]?.['QUERY PLAN'][0]?.Plan['Shared Hit Blocks'] ?? NaN);
      return { rows: [] };
    },
  } as unknown as Queryable;
  const cap = { count: 5, per_seconds: 3_600 };
  const contacts = requests.map(({ run }) => ({ brandId: run.brand_id, contactId: run.contact_id, cap }));
  await findCapped(explained, contacts, new Date());
  // The last statement reads the messages, after that of the locks.
  expect(blocks.at(-1)).toBeLessThan(30 * requests.length);
});

it('takes the locks of contacts in one order', async () => {
  const ids = Array.from({ length: 50 }, (_, n) => n + 1);
  const take = (contactIds: number[]) =>
    inTransaction(test.database.pool, (trx) => lockFrequency(trx, contactIds));
  const orders = Array.from({ length: 8 }, (_, n) => (n % 2 ? ids : ids.toReversed()));
  await expect(Promise.all(orders.map(take))).resolves.toHaveLength(8);
});
