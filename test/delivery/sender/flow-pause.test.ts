// A paused flow sends nothing: its messages wait for the resume, and are canceled with its end or an overdue exit.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { intendMessages } from '../../../src/delivery/ledger/intend/queue-batch.ts';
import { claimBacklog } from '../../../src/delivery/ledger/claim/claim.ts';
import { outcomeRecords } from '../../../src/delivery/ledger/record/outcomes.ts';
import type { HandOverOutcome } from '../../../src/delivery/terms/hand-over-outcome.ts';
import { createBatchRecording } from '../../../src/delivery/ledger/record/record.ts';
import { foldFlowCounts, readFlowCounts } from '../../../src/features/flows/counts.ts';
import { changeMessagesPage } from '../../../src/features/flows/run/waiting-messages.ts';
import { archiveFlow, pauseFlow, resumeFlow } from '../../../src/features/flows/transitions.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import { send, testFlowSender, writeContact, writeFlow, writeRun } from '../../support/flow-sends.ts';
import { runTask } from '../../support/housekeeping.ts';
import { waitForLocks } from '../../support/lock-order.ts';
import { insertPayer, monthsOf, setPrice, wrongMonths } from '../../support/money.ts';
import { insertAccount, insertSender, type QueuedAccount } from '../../support/queued.ts';
import { TEST_LIMITS } from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

const OWNER = 95;

let test: TestDatabase;
let account: QueuedAccount;
let flowId: number;
let steps: Awaited<ReturnType<typeof writeFlow>>['steps'];
let seq = 0;
let people = 0;
const wakes: string[] = [];

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 6 });
  await insertSender(test.database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
  ({ flowId, steps } = await writeFlow(test.database, account, [{}]));
});

const pool = () => test.database.pool;
const query = async (text: string, ...values: unknown[]) =>
  (await pool().query<Record<string, unknown>>(text, values)).rows;

/** Writes a message of the flow. @returns its id */
async function write(): Promise<number> {
  const contactId = await writeContact(test.database, account, { email: `p${++people}@example.com` });
  const run = await writeRun(test.database, account, flowId, contactId);
  return (await send(test.database, testFlowSender(), run, steps[0])).messageId;
}

const claim = () =>
  claimBacklog(
    pool(),
    { channel: 'email', class: 1, accountId: account.accountId, owner: OWNER, quantum: 10 },
    TEST_LIMITS,
  );

const intend = (claims: Awaited<ReturnType<typeof claim>>) =>
  intendMessages(pool(), { owner: OWNER, seq: ++seq, provider: 'smtp', claims, keyring: testKeyring });

/** Records the same outcome of all messages that may leave. */
const record = (messages: Awaited<ReturnType<typeof intend>>, outcome: HandOverOutcome) => {
  const outcomes = messages.filter(({ verdict }) => verdict === 'send').map(() => outcome);
  return createBatchRecording({ pool: pool(), events: testEvents })([
    {
      owner: OWNER,
      seq: outcomes.length === 0 ? null : seq,
      outcomes: outcomeRecords('smtp', messages, outcomes),
    },
  ]);
};

/**
 * Claims, intends and records what is due, as a sender does. Every message that may leave is accepted.
 * @returns the verdicts
 */
async function sendDue(claims?: Awaited<ReturnType<typeof claim>>): Promise<string[]> {
  const messages = await intend(claims ?? (await claim()));
  await record(messages, { kind: 'accepted', providerMessageId: null, response: '250', delivered: false });
  return messages.map(({ verdict }) => verdict);
}

const change = (work: typeof pauseFlow | typeof archiveFlow) =>
  inTransaction(pool(), (trx) => work(trx, { id: flowId }));
const resume = (overdue: 'run' | 'exit', asOf = new Date()) =>
  inTransaction(pool(), (trx) => resumeFlow(trx, { id: flowId }, { overdue, asOf }));

/** Makes the changes that a resume or an end has requested, in pages of two. */
async function makeChanges(): Promise<void> {
  const deps = {
    ...{ pool: pool(), log: pino({ level: 'silent' }), pageMessages: 2 },
    waker: { wake: (_channel: string, names: readonly string[] = []) => void wakes.push(...names) },
  };
  while (await changeMessagesPage(deps, new Date(Date.now() + 1_000)));
}

/** Runs the housekeeping task that finds messages waiting without a pause. @returns how many flows have some */
function noticeWaiting(): Promise<number> {
  const task = upkeep.tasks.find(({ name }) => name === 'waiting_flow_messages');
  if (!task) throw new Error('no such task');
  return runTask(test.database, task, new Date());
}

const statusesOf = async (ids: readonly number[]) => {
  const rows = await query('select status from messages where id = any($1) order by id', ids);
  return rows.map(({ status }) => status);
};

/** The state of a message's queue row: `waits` without a due time, and `placed` with a place in the allowance. */
const rowOf = async (id: number) =>
  (
    await query(
      `select owner, due_at = 'infinity' as waits, reserved_bucket is not null as placed
       from send_queue where message_id = $1`,
      id,
    )
  )[0];

async function placesTaken(): Promise<unknown> {
  const [row] = await query(
    'select coalesce(sum(used), 0)::int as used from allowance_buckets where account_id = $1',
    account.accountId,
  );
  return row?.['used'];
}

describe('after the pause of a flow', () => {
  it('no message of the flow leaves, and claimed ones go back to the queue', async () => {
    const id = await write();
    const claims = await claim();
    await change(pauseFlow);
    expect(await sendDue(claims)).toEqual(['flow_stopped']);
    expect(await statusesOf([id])).toEqual(['queued']);
    expect(await rowOf(id)).toEqual({ owner: null, waits: true, placed: false });
  });

  it('waiting messages take no places and are not checked again', async () => {
    await query('update accounts set allowance_per_day = 2 where id = $1', account.accountId);
    await write();
    await write();
    const claims = await claim();
    expect(await placesTaken()).toBe(2);
    await change(pauseFlow);
    expect(await sendDue(claims)).toEqual(['flow_stopped', 'flow_stopped']);
    expect(await placesTaken()).toBe(0);
    await query(
      'update send_queue set due_at = now() where account_id = $1 and due_at < $2',
      ...[account.accountId, 'infinity'],
    );
    expect(await claim()).toEqual([]);
    const paused = flowId;
    ({ flowId, steps } = await writeFlow(test.database, account, [{}]));
    await write();
    expect(await sendDue()).toEqual(['send']);
    flowId = paused;
    await resume('run');
    await makeChanges();
    // The allowance has one place left.
    expect(await sendDue()).toEqual(['send']);
    expect(await placesTaken()).toBe(2);
  });

  it('unclaimed messages are not claimed until the resume', async () => {
    const ids = [await write(), await write(), await write()];
    await change(pauseFlow);
    await makeChanges();
    expect(await claim()).toEqual([]);
    expect(await rowOf(ids[0] ?? 0)).toEqual({ owner: null, waits: true, placed: false });
    await resume('run');
    await makeChanges();
    expect(await sendDue()).toEqual(['send', 'send', 'send']);
  });

  it('a message with an attempt without a known outcome keeps its place', async () => {
    const id = await write();
    const claims = await claim();
    await query('update send_queue set attempt_count = 1 where message_id = $1', id);
    await query(
      `insert into message_events (message_id, attempt, type, data) values ($1, 1, 'unknown', '{}')`,
      id,
    );
    await change(pauseFlow);
    expect(await sendDue(claims)).toEqual(['flow_stopped']);
    expect(await placesTaken()).toBe(1);
    expect(await rowOf(id)).toEqual({ owner: null, waits: true, placed: true });
  });

  it('a late page of an earlier pause holds nothing of a flow that is active again', async () => {
    await write();
    await change(pauseFlow);
    await resume('run');
    await makeChanges();
    expect(await sendDue()).toEqual(['send']);
  });

  it('an intent that waits for the pause obeys it', async () => {
    await write();
    const claims = await claim();
    let intending: ReturnType<typeof intend> | undefined;
    await inTransaction(pool(), async (trx) => {
      await pauseFlow(trx, { id: flowId });
      intending = intend(claims);
      await waitForLocks(pool(), () => 1);
    });
    expect((await intending)?.map(({ verdict }) => verdict)).toEqual(['flow_stopped']);
  });

  it('an intent that began earlier has ended', async () => {
    let isPaused = false;
    let pausing: Promise<unknown> | undefined;
    await inTransaction(pool(), async (trx) => {
      await trx.query('select * from flows_to_send(array[$1::bigint])', [flowId]);
      pausing = change(pauseFlow).then(() => (isPaused = true));
      await waitForLocks(pool(), () => 1);
      expect(isPaused).toBe(false);
    });
    await pausing;
  });

  it('overlapping intents have not delayed it', async () => {
    let isPaused = false;
    // Each intent begins while the previous one is under way.
    const streams = [0, 1, 2].map(async (n) => {
      await delay(10 * n);
      while (!isPaused) {
        await inTransaction(pool(), async (trx) => {
          await trx.query('select * from flows_to_send(array[$1::bigint])', [flowId]);
          await delay(30);
        });
      }
    });
    await delay(60);
    await change(pauseFlow);
    isPaused = true;
    await Promise.all(streams);
  });

  it('messages of other flows are sent', async () => {
    await write();
    await change(pauseFlow);
    ({ flowId, steps } = await writeFlow(test.database, account, [{}]));
    await write();
    expect((await sendDue()).toSorted()).toEqual(['flow_stopped', 'send']);
  });

  it('a message that was queued without its flow, by an earlier version, waits as well', async () => {
    await write();
    await query('update send_queue set flow_id = null where account_id = $1', account.accountId);
    await change(pauseFlow);
    expect(await sendDue()).toEqual(['flow_stopped']);
    await resume('run');
    await makeChanges();
    expect(await sendDue()).toEqual(['send']);
  });
});

describe('the resume of a flow', () => {
  it('releases its messages, however long the pause was', async () => {
    const ids = [await write(), await write(), await write()];
    await query(
      `update send_queue set queued_at = now() - interval '80 hours' where account_id = $1`,
      account.accountId,
    );
    await change(pauseFlow);
    await query(`update flows set paused_at = now() - interval '79 hours' where id = $1`, flowId);
    expect(await sendDue()).toEqual(['flow_stopped', 'flow_stopped', 'flow_stopped']);
    await resume('run');
    expect(await sendDue()).toEqual([]);
    wakes.length = 0;
    await makeChanges();
    expect(wakes).toContain(`email/1/${account.accountId}`);
    expect(await sendDue()).toEqual(['send', 'send', 'send']);
    expect(await statusesOf(ids)).toEqual(['sent', 'sent', 'sent']);
  });

  it('does not hasten a retry that is due later', async () => {
    const id = await write();
    await query(`update send_queue set due_at = now() + interval '2 hours' where message_id = $1`, id);
    await change(pauseFlow);
    await resume('run');
    await makeChanges();
    expect(await claim()).toEqual([]);
  });

  it.each([
    ['active', ['send'], 'sent'],
    ['archived', [], 'canceled'],
  ])('by a process of an earlier version, or its end, is noticed: %s', async (status, verdicts, next) => {
    const id = await write();
    await change(pauseFlow);
    await makeChanges();
    expect(await noticeWaiting()).toBe(0);
    await query(
      'update flows set status = $2, paused_at = null, updated_at = now() where id = $1',
      flowId,
      status,
    );
    expect(await noticeWaiting()).toBe(1);
    await makeChanges();
    expect(await sendDue()).toEqual(verdicts);
    expect(await statusesOf([id])).toEqual([next]);
    expect(await noticeWaiting()).toBe(0);
  });

  it('waits for intents that have seen the pause', async () => {
    let isResumed = false;
    let resuming: Promise<unknown> | undefined;
    await change(pauseFlow);
    await inTransaction(pool(), async (trx) => {
      await trx.query('select * from flows_to_send(array[$1::bigint])', [flowId]);
      resuming = resume('run').then(() => (isResumed = true));
      await waitForLocks(pool(), () => 1);
      expect(isResumed).toBe(false);
    });
    await resuming;
  });

  it('releases a message that a sender gives back only then', async () => {
    await write();
    const claims = await claim();
    await change(pauseFlow);
    const messages = await intend(claims);
    await resume('run');
    await makeChanges();
    await createBatchRecording({ pool: pool(), events: testEvents })([
      { owner: OWNER, seq: null, outcomes: outcomeRecords('smtp', messages, []) },
    ]);
    expect(await sendDue()).toEqual(['send']);
    expect(await placesTaken()).toBe(1);
  });

  it('without overdue messages cancels those that wait, and none that are written later', async () => {
    const ids = [await write(), await write(), await write()];
    await change(pauseFlow);
    await resume('exit');
    const later = await write();
    await makeChanges();
    expect(await statusesOf(ids)).toEqual(['canceled', 'canceled', 'canceled']);
    expect(await sendDue()).toEqual(['send']);
    expect(await statusesOf([later])).toEqual(['sent']);
    const [failure] = await query(`select failure ->> 'code' as code from messages where id = $1`, ids[0]);
    expect(failure).toEqual({ code: 'canceled' });
    while (await foldFlowCounts(pool()));
    const counts = await readFlowCounts(pool(), flowId, { from: null, to: null });
    const canceled = counts.filter(({ name }) => name === 'canceled');
    expect(canceled.reduce((sum, { count }) => sum + count, 0)).toBe(3);
  });
});

describe('the end of a flow', () => {
  it('cancels its messages', async () => {
    const ids = [await write(), await write(), await write()];
    await change(archiveFlow);
    await makeChanges();
    expect(await statusesOf(ids)).toEqual(['canceled', 'canceled', 'canceled']);
    expect(await query('select 1 from send_queue where account_id = $1', account.accountId)).toEqual([]);
  });

  it('cancels a message that a sender has claimed, and returns its place', async () => {
    const id = await write();
    const claims = await claim();
    await change(archiveFlow);
    expect(await sendDue(claims)).toEqual(['flow_ended']);
    expect(await statusesOf([id])).toEqual(['canceled']);
    expect(await placesTaken()).toBe(0);
  });
});

const LOST: HandOverOutcome = { kind: 'unknown', reason: 'the connection was lost' };

/** A message is at the provider, which does not answer. @param meanwhile what happens before that is recorded */
async function lose(meanwhile: () => Promise<unknown> = () => Promise.resolve()): Promise<number> {
  const id = await write();
  const messages = await intend(await claim());
  await meanwhile();
  await record(messages, LOST);
  return id;
}

/** Sends what waits for its next attempt, as if that were due. */
async function sendNext(): Promise<string[]> {
  await query(
    `update send_queue set due_at = now() where account_id = $1 and due_at < 'infinity'`,
    account.accountId,
  );
  return sendDue();
}

describe('a message whose outcome is unknown', () => {
  const stateOf = async (id: number) =>
    (
      await query(
        `select m.status, m.failure ->> 'code' as code, q.attempt_count as attempts, q.due_at > now() as later
         from messages m left join send_queue q on q.message_id = m.id where m.id = $1`,
        id,
      )
    )[0];

  it('stays unknown, and is not sent again unless its flow says so', async () => {
    const id = await lose();
    expect(await stateOf(id)).toEqual({ status: 'unknown', code: null, attempts: null, later: null });
    expect(await sendNext()).toEqual([]);
  });

  describe('and whose flow has it sent again', () => {
    beforeEach(() => query(`update flows set unknown = 'resend' where id = $1`, flowId));

    it('is sent again, and is counted once', async () => {
      const id = await lose();
      expect(await stateOf(id)).toEqual({ status: 'unknown', code: null, attempts: 1, later: true });
      expect(await sendNext()).toEqual(['send']);
      expect(await statusesOf([id])).toEqual(['sent']);
      await foldFlowCounts(pool());
      const counts = await readFlowCounts(pool(), flowId, { from: null, to: null });
      const names = counts.filter(({ count }) => count !== 0).map(({ name }) => name);
      expect(names.toSorted()).toEqual(['accepted', 'resent', 'sent']);
    });

    it('waits for the resume if the flow was paused meanwhile', async () => {
      const id = await lose(() => change(pauseFlow));
      await makeChanges();
      expect(await sendNext()).toEqual(['flow_stopped']);
      expect(await rowOf(id)).toEqual({ owner: null, waits: true, placed: true });
      await resume('run');
      await makeChanges();
      expect(await sendDue()).toEqual(['send']);
      expect(await statusesOf([id])).toEqual(['sent']);
    });

    it.each([
      ['archived', () => change(archiveFlow)],
      ['resumed without what waited', () => change(pauseFlow).then(() => resume('exit'))],
    ])('stays unknown if the flow was %s meanwhile', async (_, end) => {
      const id = await lose(async () => {
        await end();
        await makeChanges();
      });
      expect(await sendNext()).toEqual(['flow_ended']);
      expect(await stateOf(id)).toEqual({
        ...{ status: 'unknown', code: 'canceled', attempts: null, later: null },
      });
    });
  });
});

describe('a message of an account that pays', () => {
  it('reserves no funds while its flow is paused, and pays when it leaves', async () => {
    account = await insertPayer(test.database, { funds: 100 });
    await setPrice(test.database, 60);
    ({ flowId, steps } = await writeFlow(test.database, account, [{}]));
    await write();
    const claims = await claim();
    expect(await monthsOf(test.database, account)).toMatchObject({ emails: 1, spent: 60 });
    await change(pauseFlow);
    await sendDue(claims);
    expect(await monthsOf(test.database, account)).toMatchObject({ emails: 0, spent: 0 });
    await resume('run');
    await makeChanges();
    expect(await sendDue()).toEqual(['send']);
    expect(await monthsOf(test.database, account)).toMatchObject({ emails: 1, spent: 60 });
    expect(await wrongMonths(test.database, 60)).toEqual([]);
  });

  it('pays once if it is sent again because its outcome was unknown', async () => {
    account = await insertPayer(test.database, { funds: 100 });
    await setPrice(test.database, 60);
    ({ flowId, steps } = await writeFlow(test.database, account, [{}]));
    await query(`update flows set unknown = 'resend' where id = $1`, flowId);
    const id = await lose();
    expect(await sendNext()).toEqual(['send']);
    expect(await statusesOf([id])).toEqual(['sent']);
    expect(await monthsOf(test.database, account)).toMatchObject({ emails: 1, spent: 60 });
    expect(await wrongMonths(test.database, 60)).toEqual([]);
  });
});
