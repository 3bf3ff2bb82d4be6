// Senders lock rows in one fixed order, so that recording, recovery and release cannot deadlock.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { intendMessages } from '../../../src/delivery/ledger/intend/queue-batch.ts';
import { allocateMessageIds } from '../../../src/delivery/ledger/accept/write-messages.ts';
import { writeSet } from '../../../src/delivery/ledger/accept/write-set.ts';
import { messageClasses } from '../../../src/delivery/terms/message.ts';
import {
  cancelMessages,
  cancelTransactional,
  markForRecall,
} from '../../../src/delivery/ledger/cancel/cancel.ts';
import { moveScheduled } from '../../../src/delivery/ledger/cancel/move.ts';
import { claimBacklog, releaseClaims } from '../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../src/delivery/ledger/ownership/claims.ts';
import { recoverDeadSender } from '../../../src/delivery/ledger/upkeep/dead-process.ts';
import { refusalRecord } from '../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../src/delivery/ledger/record/record.ts';
import { type Database, openDatabase } from '../../../src/platform/db/database.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { keepFiles, releaseFiles } from '../../../src/features/attachments/model.ts';
import { resumeSending } from '../../../src/features/accounts/service.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import { countUnlockedRows, runBehindLock } from '../../support/lock-order.ts';
import { insertAccount, insertSender, queueEmails, type QueuedAccount } from '../../support/queued.ts';
import { inMinutes, schedule } from '../../support/scheduled.ts';
import { TEST_LIMITS } from '../../support/sending.ts';
import { testKeyring } from '../../support/webhooks.ts';

const OWNER = 90;
const ACCOUNTS = 8;

let test: TestDatabase;
/** Plans statements as a sender's database does. */
let database: Database;
let accounts: QueuedAccount[];
/** One claim of each account, in the order of the accounts. */
let claims: Claim[];

beforeAll(async () => {
  test = await createTestDatabase({ keyedPlans: true, poolMax: 12 });
  ({ database } = test);
});
afterAll(() => test.drop());

beforeEach(async () => {
  await insertSender(database, OWNER);
  accounts = [];
  claims = [];
  for (let n = 0; n < ACCOUNTS; n++) {
    const account = await insertAccount(database);
    await queueEmails(database, account, 1);
    const wanted = {
      channel: 'email',
      class: messageClasses.transactional,
      accountId: account.accountId,
      owner: OWNER,
    } as const;
    claims.push(...(await claimBacklog(database.pool, { ...wanted, quantum: 1 }, TEST_LIMITS)));
    accounts.push(account);
  }
});
afterEach(() =>
  database.pool.query(
    'truncate processes, messages, message_events, send_queue, handovers, allowance_buckets',
  ),
);

const unlockedRows = (lock: string, id: number, work: () => Promise<unknown>, probes: string[]) =>
  countUnlockedRows(database.pool, { lock, values: [id], work, probes });

const lockMessage = 'select 1 from messages where id = $1 for update';
const otherMessages = 'select 1 from messages for no key update';
const intents = 'select 1 from handovers for update';

async function intend(seq: number, wanted: Claim[]) {
  return intendMessages(database.pool, {
    owner: OWNER,
    seq,
    provider: 'smtp',
    keyring: testKeyring,
    claims: wanted,
  });
}

async function refusedBatch() {
  const batch = await intend(1, claims);
  const outcomes = batch.map((message) => refusalRecord(message, 'suppressed')).toReversed();
  return { owner: OWNER, seq: 1, outcomes };
}

describe('rows that several statements lock', () => {
  it('are messages by id, then intents, when outcomes are recorded', async () => {
    const batch = await refusedBatch();
    const first = claims[0]?.messageId ?? 0;
    const record = () => createBatchRecording({ pool: database.pool, events: testEvents })([batch]);
    // The transaction that has the lock counts its own row.
    const probes = [otherMessages, intents];
    expect(await unlockedRows(lockMessage, first, record, probes)).toEqual([ACCOUNTS, 1]);
  });

  it('are buckets of the allowance by account, when reservations are returned', async () => {
    const batch = await refusedBatch();
    const lock = 'select 1 from allowance_buckets where account_id = $1 for update';
    const others = 'select 1 from allowance_buckets for update';
    const record = () => createBatchRecording({ pool: database.pool, events: testEvents })([batch]);
    const first = accounts[0]?.accountId ?? 0;
    expect(await unlockedRows(lock, first, record, [others])).toEqual([ACCOUNTS]);
    const { rows } = await database.pool.query('select distinct used from allowance_buckets');
    expect(rows).toEqual([{ used: 0 }]);
  });

  it('are messages by id, then intents, when a dead sender is recovered', async () => {
    await intend(1, claims.slice(ACCOUNTS / 2));
    await intend(2, claims.slice(0, ACCOUNTS / 2));
    const recover = () => inTransaction(database.pool, (client) => recoverDeadSender(client, OWNER));
    const first = claims[0]?.messageId ?? 0;
    const probes = [otherMessages, intents];
    expect(await unlockedRows(lockMessage, first, recover, probes)).toEqual([ACCOUNTS, 2]);
    const { rows } = await database.pool.query('select distinct status from messages');
    expect(rows).toEqual([{ status: 'unknown' }]);
  });

  it.each([
    ['released by their sender', () => releaseClaims(database.pool, OWNER, claims.toReversed())],
    ['released from a dead sender', () => recoverDeadSender(database.pool, OWNER)],
  ])('are queue rows by message, when claims are %s', async (_name, release) => {
    // Store the rows in the opposite order.
    await database.pool.query(
      `with moved as (delete from send_queue returning *)
       insert into send_queue select * from moved order by message_id desc`,
    );
    const lock = 'select 1 from send_queue where message_id = $1 for update';
    const first = claims[0]?.messageId ?? 0;
    const others = 'select 1 from send_queue for update';
    expect(await unlockedRows(lock, first, release, [others])).toEqual([ACCOUNTS]);
    const { rows } = await database.pool.query('select distinct owner from send_queue');
    expect(rows).toEqual([{ owner: null }]);
  });

  it('are files by hash, then the month of the account, when a letter is accepted', async () => {
    const { accountId, brandId } = accounts[0] as QueuedAccount;
    const hashes = [3, 1, 2].map((byte) => Buffer.alloc(32, byte));
    await database.pool.query(
      `with month as (insert into account_months (account_id, month) values ($1, current_month())),
         price as (insert into prices (tier, kind, millicents) values ('trusted', 'email', 0))
       insert into attachment_files (account_id, sha256, storage_key, size, kept_until)
       select $1, f, encode(f, 'hex'), 1, now() from unnest($2::bytea[]) f`,
      [accountId, hashes],
    );
    const [id = 0] = await allocateMessageIds(database.pool, 1);
    const message = {
      ...{
        id,
        account_id: accountId,
        brand_id: brandId,
        channel: 'email' as const,
        status: 'queued' as const,
      },
      ...{ test: false, to_address: 'ada@example.com', to_key: 'ada@example.com' },
    };
    const file = {
      filename: 'a',
      contentType: 'text/plain',
      contentId: null,
      size: 1,
      stored: true,
    } as const;
    const letter = {
      ...{
        html: null,
        text: 'Hi',
        headers: null,
        replyTo: null,
        wireBytes: 9,
        addresses: [],
        defaultKind: 'smtp',
      },
      files: hashes.map((sha256) => ({ ...file, disposition: 'attachment' as const, sha256 })),
    };
    const source = { class: messageClasses.transactional };
    const accept = () =>
      writeSet(database.pool, [message], {
        source,
        limits: TEST_LIMITS,
        atomic: true,
        letters: [{ first: 0, count: 1, letter }],
      });
    const lock = `select 1 from attachment_files where account_id = $1 and get_byte(sha256, 0) = 1 for update`;
    const others = ['attachment_files', 'account_months'].map((table) => `select 1 from ${table} for update`);
    expect(await unlockedRows(lock, accountId, accept, others)).toEqual([hashes.length, 1]);
  });

  it.each([
    ['kept', keepFiles],
    ['released', releaseFiles],
  ])('are files by hash, when files are %s', async (_name, change) => {
    const scope = accounts[1] as QueuedAccount;
    const hashes = [3, 1, 2].map((byte) => Buffer.alloc(32, byte));
    await database.pool.query(
      `insert into attachment_files (account_id, sha256, storage_key, size, kept_until)
       select $1::bigint, f, concat($1, '/', encode(f, 'hex')), 1, now() from unnest($2::bytea[]) f`,
      [scope.accountId, hashes],
    );
    const lock = `select 1 from attachment_files where account_id = $1 and get_byte(sha256, 0) = 1 for update`;
    const others = `select 1 from attachment_files where account_id = ${scope.accountId} for update`;
    // An index has the order of the hashes already.
    const work = () =>
      inTransaction(database.pool, async (trx) => {
        await trx.query('set local enable_seqscan = on');
        for (const scan of ['indexscan', 'bitmapscan']) await trx.query(`set local enable_${scan} = off`);
        await change(trx, scope, hashes);
      });
    expect(await unlockedRows(lock, scope.accountId, work, [others])).toEqual([hashes.length]);
  });

  it('are outcomes of the account, then its held backlogs, when sending is resumed', async () => {
    const account = accounts[0]?.accountId ?? 0;
    await database.pool.query(
      `with held as (
         insert into held_backlogs (account_id, channel, class, recheck_at) values ($1, 'email', 1, now() + interval '1 day')
       )
       insert into account_outcomes (account_id, hour, attempted) values ($1, date_trunc('hour', now()), 1)`,
      [account],
    );
    const lock = 'select 1 from account_outcomes where account_id = $1 for update';
    const backlogs = `select 1 from held_backlogs where account_id = ${account} for update`;
    const resume = () => resumeSending(database.pool, account);
    expect(await unlockedRows(lock, account, resume, [backlogs])).toEqual([1]);
    const { rows } = await database.pool.query('select recheck_at <= now() as due from held_backlogs');
    expect(rows).toEqual([{ due: true }]);
  });
});

describe('messages that a client cancels or moves', () => {
  const COPIES = 6;
  let of: QueuedAccount;
  let ids: number[];

  beforeEach(async () => {
    of = await insertAccount(database);
    ids = await queueEmails(database, of, COPIES);
    await schedule(database.pool, ids, inMinutes(60));
    // Store the rows in the opposite order.
    await database.pool.query(
      `with moved as (delete from send_queue where message_id = any($1) returning *)
       insert into send_queue select * from moved order by message_id desc`,
      [ids],
    );
  });

  const cancel = (recall: boolean) => () =>
    inTransaction(database.pool, (trx) =>
      cancelTransactional(trx, of.accountId, ids.toReversed(), { reason: 'x', recall }),
    );
  const move = () =>
    inTransaction(database.pool, (trx) =>
      moveScheduled(trx, of.accountId, ids.toReversed(), inMinutes(90), []),
    );

  it.each([
    ['canceled', cancel(false)],
    ['canceled with a recall', cancel(true)],
    ['moved', move],
  ])('are locked by id, then their queue rows by id, when they are %s', async (_name, work) => {
    const named = `= any('{${ids.join(',')}}')`;
    const messages = `select 1 from messages where id ${named} for update`;
    const rows = `select 1 from send_queue where message_id ${named} for update`;
    const [first = 0] = ids;
    expect(await unlockedRows(lockMessage, first, work, [messages, rows])).toEqual([COPIES, COPIES]);
    await database.pool.query(`update messages set status = 'queued'`);
    if ((await database.pool.query(rows)).rowCount === 0) await requeue();
    const lockRow = 'select 1 from send_queue where message_id = $1 for update';
    expect(await unlockedRows(lockRow, first, work, [messages, rows])).toEqual([0, COPIES]);
  });

  const requeue = () =>
    database.pool.query(
      `insert into send_queue (message_id, account_id, channel, class, due_at, queued_at)
       select id, account_id, 'email', 0, scheduled_at, scheduled_at from messages where id = any($1) order by id desc`,
      [ids],
    );

  it('do not deadlock with claims, intents, records, a reaper, and requests for the same messages', async () => {
    await database.pool.query(
      'update send_queue set due_at = now(), queued_at = now() where message_id = any($1)',
      [ids],
    );
    const wanted = {
      channel: 'email',
      class: messageClasses.transactional,
      accountId: of.accountId,
    } as const;
    const claim = () =>
      claimBacklog(database.pool, { ...wanted, owner: OWNER, quantum: COPIES }, TEST_LIMITS);
    const claimed = await claim();
    await markForRecall(database.pool, of.accountId);
    const batch = await intend(1, claimed.slice(0, 2));
    const outcomes = batch.map((message) => refusalRecord(message, 'domain_deleted'));
    const record = () =>
      createBatchRecording({ pool: database.pool, events: testEvents })([{ owner: OWNER, seq: 1, outcomes }]);
    const recover = () => inTransaction(database.pool, (client) => recoverDeadSender(client, OWNER));
    const erase = () => cancelMessages(database.pool, ids, 'the contact was deleted');
    const lock = 'select 1 from messages where id = $1 for update';
    for (const id of [ids[0], ids.at(-1)]) {
      await runBehindLock(database.pool, { lock, values: [id] }, [
        ...[
          cancel(true),
          record,
          move,
          recover,
          erase,
          claim,
          cancel(false),
          () => intend(2, claimed.slice(2)),
        ],
      ]);
    }
    const { rows } = await database.pool.query(
      `select m.status from messages m left join send_queue q on q.message_id = m.id
       where m.id = any($1) and (q.message_id is null) = (m.status in ('queued', 'held'))`,
      [ids],
    );
    expect(rows).toEqual([]);
  });
});

it('claims without waiting for a message that should be held but whose outcome is being recorded', async () => {
  const account = await insertAccount(database);
  const [recorded, other] = await queueEmails(database, account, 2);
  await database.pool.query('update accounts set sending_paused_at = now() where id = $1', [
    account.accountId,
  ]);
  const wanted = {
    channel: 'email',
    class: messageClasses.transactional,
    accountId: account.accountId,
    owner: OWNER,
  } as const;
  const impatient = openDatabase({ url: test.url, poolMax: 1, keyedPlans: true });
  try {
    await impatient.pool.query(`set lock_timeout = '1s'`);
    await inTransaction(database.pool, async (client) => {
      await client.query(lockMessage, [recorded]);
      expect(await claimBacklog(impatient.pool, { ...wanted, quantum: 2 }, TEST_LIMITS)).toEqual([]);
    });
  } finally {
    await impatient.close();
  }
  const { rows } = await database.pool.query(
    `select m.id, m.status, q.due_at > now() as later from messages m join send_queue q on q.message_id = m.id
     where m.account_id = $1 order by m.id`,
    [account.accountId],
  );
  expect(rows).toEqual([
    { id: recorded, status: 'queued', later: true },
    { id: other, status: 'held', later: true },
  ]);
});
