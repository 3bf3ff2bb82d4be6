// Each limit refuses, holds, reserves and reports as its table row says, and held messages are released or expire.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { intendMessages } from '../../../../src/delivery/ledger/intend/queue-batch.ts';
import { createAdmission } from '../../../../src/delivery/ledger/limits/admission.ts';
import {
  acceptRules,
  type LimitName,
  limits,
  type Limits,
} from '../../../../src/delivery/ledger/limits/authority.ts';
import { readCapacity } from '../../../../src/delivery/ledger/limits/capacity.ts';
import type { Limit } from '../../../../src/delivery/ledger/limits/limit.ts';
import { releaseHeldPage } from '../../../../src/delivery/ledger/release/release-held.ts';
import { type MessageClass, messageClasses } from '../../../../src/delivery/terms/message.ts';
import { claimBacklog } from '../../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../../src/delivery/ledger/ownership/claims.ts';
import { refusalRecord } from '../../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../../src/delivery/ledger/record/record.ts';
import { allocateMessageIds, writeMessages } from '../../../../src/delivery/ledger/accept/write-messages.ts';
import { readDeliveryStatus } from '../../../../src/features/delivery-status/service.ts';
import { inTransaction } from '../../../../src/platform/db/queryable.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { testEvents } from '../../../support/events.ts';
import { limitSituations } from '../../../support/limit-situations.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../../support/queued.ts';
import { TEST_LIMITS } from '../../../support/sending.ts';
import { testKeyring } from '../../../support/webhooks.ts';

const OWNER = 90;
const actor = { kind: 'api_key', id: 1, test: false } as const;
const source = { class: messageClasses.transactional };

let test: TestDatabase;
let account: QueuedAccount;

beforeAll(async () => {
  test = await createTestDatabase();
  await insertSender(test.database, OWNER);
});
afterAll(() => test.drop());
beforeEach(async () => {
  account = await insertAccount(test.database);
});

const query = <Row extends object>(text: string, values: unknown[]) =>
  test.database.pool.query<Row>(text, values).then((result) => result.rows);

const apply = (limit: Limit) => query(limitSituations[limit.name as LimitName], [account.accountId]);

const claim = (given: MessageClass = source.class): Promise<Claim[]> =>
  claimBacklog(
    test.database.pool,
    { channel: 'email', class: given, accountId: account.accountId, owner: OWNER, quantum: 50 },
    TEST_LIMITS,
  );

/** A class whose messages the limit may hold. */
const classOf = ({ quota, refusal }: Limit) =>
  quota?.holds || refusal ? messageClasses.campaign : source.class;

/** Whether the limit holds all messages of an account. */
const holdsAccountOf = ({ condition, quota }: Limit) =>
  condition ? condition.reads === 'account' : !quota?.per;

const intend = (claims: Claim[]) =>
  intendMessages(test.database.pool, {
    owner: OWNER,
    seq: account.accountId,
    provider: 'smtp',
    keyring: testKeyring,
    claims,
  });

async function accept(): Promise<void> {
  const [id = 0] = await allocateMessageIds(test.database.pool, 1);
  const address = 'ada@example.com';
  const message = { to_address: address, to_key: address, from_address: address, subject: 'Hi', text: 'Hi' };
  const { accountId: account_id, brandId: brand_id } = account;
  await writeMessages(
    test.database.pool,
    [{ id, account_id, brand_id, channel: 'email', status: 'queued', test: false, ...message }],
    { source, limits: TEST_LIMITS },
  );
}

const table: Limits = limits;
const named = table.map((limit) => [limit.name, limit] as const);

describe('the table of limits', () => {
  it('gives each limit its own name, reason and SQL state', () => {
    for (const key of [
      table.map(({ name }) => name),
      table.flatMap(({ status }) => status?.reason ?? []),
      acceptRules.map(({ sqlstate }) => sqlstate),
    ]) {
      expect(new Set(key).size).toBe(key.length);
    }
  });

  it.each(named)('%s applies somewhere, and defines how it decides', (_name, limit) => {
    expect(limit.accept ?? limit.claim ?? limit.handOver).toBeDefined();
    expect(limit.accept ?? limit.condition ?? limit.quota).toBeDefined();
    if (limit.quota) expect([limit.figures, limit.claim?.effect]).toEqual([expect.any(Function), 'hold']);
    if (limit.claim && !limit.quota) expect(limit.condition?.reads).not.toBe('message');
    if (limit.claim?.effect === 'hold') expect(limit.claim.until ?? limit.claim.recheck).toBeTruthy();
  });
});

describe.each(named)('the limit %s', (_name, limit) => {
  it(limit.accept ? 'refuses a request' : 'refuses no request', async () => {
    await apply(limit);
    if (!limit.accept) return accept();
    const { code, message } = limit.accept;
    await expect(accept()).rejects.toMatchObject({ code, message });
    expect(await query('select 1 from messages where account_id = $1', [account.accountId])).toEqual([]);
  });

  it(limit.accept ? 'has nothing left for the refused message' : 'is not asked what is left', async () => {
    await apply(limit);
    const admission = createAdmission(test.database.pool, TEST_LIMITS);
    const message = { account_id: account.accountId, channel: 'email' as const, test: false };
    admission.suspect([message]);
    const refused = await admission.refuse([message]);
    expect(refused.get(message)?.code).toBe(limit.accept?.code);
  });

  it(limit.claim?.effect === 'hold' ? 'holds messages in a claim' : 'lets messages be claimed', async () => {
    await queueEmails(test.database, account, 1);
    await apply(limit);
    await query('update send_queue set class = $2 where account_id = $1', [
      account.accountId,
      classOf(limit),
    ]);
    const claims = await claim(classOf(limit));
    const holds = limit.claim?.effect === 'hold';
    expect(claims).toHaveLength(holds ? 0 : 1);
    const [row] = await query<{ hold: { reason: string; until: string | null } | null; at_its_end: boolean }>(
      `select hold, held and due_at = queued_at + interval '72 hours 1 second' as at_its_end
       from messages join send_queue on message_id = id where messages.account_id = $1`,
      [account.accountId],
    );
    // The setups of two limits start from a hold by another limit.
    if (!holds) return expect(row?.hold?.reason).not.toBe(limit.name);
    expect([row?.hold?.reason, row?.hold?.until === null]).toEqual([limit.name, limit.claim.until === null]);
    if (row?.hold?.until) expect(new Date(row.hold.until).getTime()).toBeGreaterThan(Date.now());
    // If the limit holds the whole account, the message is due when it expires; until then, only one row for the whole
    // backlog is checked.
    const holdsAccount = holdsAccountOf(limit);
    expect(row?.at_its_end).toBe(holdsAccount);
    expect(
      await query('select channel, class from held_backlogs where account_id = $1', [account.accountId]),
    ).toEqual(holdsAccount ? [{ channel: 'email', class: classOf(limit) }] : []);
  });

  it(limit.handOver ? 'refuses a message before hand-over' : 'refuses nothing before hand-over', async () => {
    await queueEmails(test.database, account, 1);
    const claims = await claim();
    await apply(limit);
    const [message] = await intend(claims);
    expect(message?.verdict).toBe(limit.handOver ? limit.name : 'send');
    if (!message || message.verdict === 'send') return;
    const record = refusalRecord(message, message.verdict);
    const { effect } = limit.handOver ?? {};
    expect(record.queue).toBe(effect === 'release' ? 'release' : 'delete');
    expect(record.giveBack).toBe(effect !== 'release');
    if (limit.handOver?.effect === 'fail') {
      const { code, message: text } = limit.handOver;
      expect(record).toMatchObject({ status: 'failed', failure: { code, message: text } });
    }
  });

  it(limit.status ? 'shows in the delivery status' : 'does not show in the delivery status', async () => {
    await queueEmails(test.database, account, 1);
    await apply(limit);
    const { pool } = test.database;
    const { reached } = await readCapacity(pool, account.accountId, TEST_LIMITS);
    expect(reached).toEqual(limit.status ? [limit.name] : []);
    const status = await readDeliveryStatus(
      pool,
      { ...account, actor, role: 'admin' },
      TEST_LIMITS,
      'mail.test',
    );
    const { state, reason, remediation } = limit.status ?? { state: 'open', reason: null, remediation: null };
    expect(status).toMatchObject({ state, reason, remediation });
  });

  it('gives back what a refused message has reserved', async () => {
    if (!limit.handOver || limit.handOver.effect === 'release') return;
    await queueEmails(test.database, account, 1);
    const claims = await claim();
    await apply(limit);
    const outcomes = (await intend(claims)).map((message) => refusalRecord(message, limit.name as never));
    const record = createBatchRecording({ pool: test.database.pool, events: testEvents });
    await record([{ owner: OWNER, seq: null, outcomes }]);
    expect(
      await query('select used from allowance_buckets where account_id = $1', [account.accountId]),
    ).toEqual([{ used: 0 }]);
    expect(await query('select 1 from send_queue where account_id = $1', [account.accountId])).toEqual([]);
  });
});

it('shows the first limit of the table if an account has reached several', async () => {
  for (const limit of table.toReversed()) await apply(limit);
  // An account with a verified domain does not need the sandbox.
  await query(`update domains set status = 'failed' where account_id = $1`, [account.accountId]);
  const { reached } = await readCapacity(test.database.pool, account.accountId, TEST_LIMITS);
  expect(reached).toEqual(table.filter(({ status }) => status).map(({ name }) => name));
});

describe('held messages', () => {
  const look = () =>
    query('update held_backlogs set recheck_at = now() where account_id = $1', [account.accountId]);
  const release = () => releaseHeldPage(test.database.pool, TEST_LIMITS);
  const pause = (paused: boolean) =>
    query(`update accounts set sending_paused_at = case when $2 then now() end where id = $1`, [
      account.accountId,
      paused,
    ]);
  const statuses = () =>
    query<{ status: string; count: number }>(
      'select status, count(*) from messages where account_id = $1 group by status order by status',
      [account.accountId],
    );
  const written = () =>
    query(
      `select q.xmin::text as queue, m.xmin::text as message from send_queue q join messages m on m.id = q.message_id
       where q.account_id = $1 order by m.id`,
      [account.accountId],
    );

  beforeEach(async () => {
    await test.database.pool.query('delete from held_backlogs');
  });

  it('are released once the account is no longer paused', async () => {
    await queueEmails(test.database, account, 3);
    await pause(true);
    await claim();
    await pause(false);
    await look();
    expect(await release()).toMatchObject({ backlog: { accountId: account.accountId }, released: 3 });
    expect(await statuses()).toEqual([{ status: 'queued', count: 3 }]);
    expect(await claim()).toHaveLength(3);
    expect(await query('select 1 from held_backlogs', [])).toEqual([]);
  });

  it('are not updated again while the account stays paused', async () => {
    await queueEmails(test.database, account, 3);
    await pause(true);
    await claim();
    const before = await written();
    for (let n = 0; n < 3; n += 1) {
      await look();
      expect(await release()).toMatchObject({ released: 0 });
      await claim();
    }
    expect(await written()).toEqual(before);
    const [row] = await query<{ later: boolean }>(
      `select recheck_at > now() + interval '1 minute' as later from held_backlogs`,
      [],
    );
    expect(row?.later).toBe(true);
  });

  it('are released only as far as the allowance has room, those accepted first', async () => {
    await query('update accounts set allowance_per_day = 2 where id = $1', [account.accountId]);
    const ids = await queueEmails(test.database, account, 9);
    expect(await claim()).toHaveLength(2);
    await query('update accounts set allowance_per_day = 5 where id = $1', [account.accountId]);
    await look();
    expect(await release()).toMatchObject({ released: 3 });
    // Messages that are due take the room, although none of them has been claimed yet.
    await look();
    expect(await release()).toMatchObject({ released: 0 });
    expect((await claim()).map(({ messageId }) => messageId)).toEqual(ids.slice(2, 5));
    expect(await statuses()).toEqual([
      { status: 'held', count: 4 },
      { status: 'queued', count: 5 },
    ]);
  });

  it('are released in pages, each of which continues where the last one ended', async () => {
    await queueEmails(test.database, account, 5_000);
    await pause(true);
    for (let n = 0; n < 5; n += 1) {
      await claimBacklog(
        test.database.pool,
        { channel: 'email', ...source, accountId: account.accountId, owner: OWNER, quantum: 1_000 },
        TEST_LIMITS,
      );
    }
    await pause(false);
    await look();
    const released: (number | undefined)[] = [];
    for (let n = 0; n < 4; n += 1) released.push((await release())?.released);
    expect(released).toEqual([2_000, 2_000, 1_000, undefined]);
    expect(await statuses()).toEqual([{ status: 'queued', count: 5_000 }]);
  });

  it('are skipped while another transaction changes them, and released later', async () => {
    const [changed] = await queueEmails(test.database, account, 3);
    await pause(true);
    await claim();
    await pause(false);
    await look();
    await inTransaction(test.database.pool, async (client) => {
      await client.query('select 1 from messages where id = $1 for update', [changed]);
      expect(await release()).toMatchObject({ released: 2 });
    });
    await look();
    expect(await release()).toMatchObject({ released: 1 });
  });

  it('expire after 72 hours even if their account is still paused', async () => {
    await queueEmails(test.database, account, 1);
    await pause(true);
    await claim();
    await query(
      `update send_queue set queued_at = queued_at - interval '73 hours', due_at = due_at - interval '73 hours'
       where account_id = $1`,
      [account.accountId],
    );
    const [message] = await intend(await claim());
    expect(message?.verdict).toBe('expired');
  });
});
