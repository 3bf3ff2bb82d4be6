// The sender sends each message once, retries temporary refusals for 72 hours, and holds mail over a limit.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { intendMessages } from '../../../src/delivery/ledger/intend/queue-batch.ts';
import { messageClasses } from '../../../src/delivery/terms/message.ts';
import { claimBacklog, releaseClaims } from '../../../src/delivery/ledger/claim/claim.ts';
import type { Claim } from '../../../src/delivery/ledger/ownership/claims.ts';
import { recoverDeadSender } from '../../../src/delivery/ledger/upkeep/dead-process.ts';
import { outcomeRecord } from '../../../src/delivery/ledger/record/outcomes.ts';
import { createBatchRecording } from '../../../src/delivery/ledger/record/record.ts';
import { resumeSending, setAccount } from '../../../src/features/accounts/service.ts';
import { upkeep } from '../../../src/features/upkeep.ts';
import { registerProcess } from '../../../src/platform/processes/process.ts';
import { recoverProcess } from '../../../src/platform/processes/reaper.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { testEvents } from '../../support/events.ts';
import { eventually } from '../../support/eventually.ts';
import {
  insertAccount,
  insertSender,
  makeAllDue,
  queueEmails,
  type QueuedAccount,
  statusCounts,
} from '../../support/queued.ts';
import {
  receivedAtLeast,
  slowChannel,
  startSmtpServer,
  startTestSender,
  TEST_LIMITS,
  type TestSender,
  type TestSenderOptions,
  type TestSmtpServer,
} from '../../support/sending.ts';
import { emailsSent } from '../../support/usage.ts';
import { parseMessageReference } from '../../../src/delivery/terms/addresses/reference.ts';
import { testKeyring } from '../../support/webhooks.ts';

let test: TestDatabase;
let server: TestSmtpServer;
let account: QueuedAccount;
let senders: TestSender[] = [];

beforeEach(async () => {
  test = await createTestDatabase({ poolMax: 4 });
  server = await startSmtpServer();
  account = await insertAccount(test.database);
});

afterEach(async () => {
  await Promise.all(senders.map((each) => each.stop()));
  senders = [];
  await server.stop();
  await test.drop();
});

async function start(options: Partial<TestSenderOptions> = {}): Promise<TestSender> {
  const sender = await startTestSender({ url: test.url, port: server.port, ...options });
  senders.push(sender);
  return sender;
}

const query = <Row extends object>(text: string, values: unknown[] = []) =>
  test.database.pool.query<Row>(text, values).then((result) => result.rows);

const untilCounts = (expected: Record<string, number>, accountId?: number) =>
  eventually(async () => expect(await statusCounts(test.database, accountId)).toEqual(expected));

describe('the send loop', () => {
  it('sends each message once, and leaves nothing behind', async () => {
    const ids = await queueEmails(test.database, account, 300);
    await Promise.all([start(), start()]);
    await untilCounts({ sent: 300 });
    expect(new Set(server.received.map((mail) => mail.to)).size).toBe(300);
    expect(server.received).toHaveLength(300);
    await eventually(async () => {
      const left = await query(
        'select (select count(*) from send_queue) as queue, (select count(*) from handovers) as intents',
      );
      expect(left).toEqual([{ queue: 0, intents: 0 }]);
    });
    const rows = await query('select id, sent_attempt, response from messages order by id');
    expect(rows).toEqual(
      ids.map((id) => ({ id, sent_attempt: 1, response: expect.stringMatching(/^250 /) })),
    );
    expect(await query('select type from message_events')).toEqual([]);
    expect(await emailsSent(test.database.pool, account.accountId)).toBe(300);
    expect(await query('select used from allowance_buckets')).toEqual([{ used: 300 }]);
  });

  it('names the message in Message-ID and in the return path', async () => {
    const [id] = await queueEmails(test.database, account, 1);
    await start();
    await receivedAtLeast(server, 1);
    const messageId = /^Message-ID: <(.+)@mail\.test>/m.exec(server.received[0]?.raw ?? '')?.[1] ?? '';
    expect(parseMessageReference([Buffer.alloc(32, 2)], messageId)).toEqual({
      accountId: account.accountId,
      messageId: id,
    });
    expect(server.received[0]?.from).toMatch(/^b-[0-9a-z]+-[0-9a-z]+-[a-z2-7]{26}@mail\.test$/);
  });

  it('serves an account with one message before the rest of a long queue', async () => {
    await queueEmails(test.database, account, 3_000, { prefix: 'many' });
    const small = await insertAccount(test.database);
    await queueEmails(test.database, small, 1, { prefix: 'one' });
    await start();
    await untilCounts({ sent: 1 }, small.accountId);
    const place = server.received.findIndex((mail) => mail.to.startsWith('one'));
    expect(place).toBeLessThan(1_100);
  });

  it('leaves messages to other senders if its provider is slow', async () => {
    await queueEmails(test.database, account, 600);
    const answered = Promise.withResolvers<undefined>();
    const channel = slowChannel(answered.promise);
    senders.push(await startTestSender({ url: test.url, port: server.port, channel }));
    const owned = () => query('select 1 from send_queue where owner is not null');
    try {
      // Two batches of ten, and what is claimed ahead.
      await eventually(async () => expect(await owned()).toHaveLength(60));
      await start();
      // The slow sender gives back what it has claimed ahead after two seconds.
      await eventually(async () =>
        expect((await statusCounts(test.database)).sent).toBeGreaterThanOrEqual(550),
      );
      expect((await owned()).length).toBeLessThanOrEqual(60);
    } finally {
      answered.resolve(undefined);
    }
  });

  it('stops without losing or repeating a message', async () => {
    await queueEmails(test.database, account, 600);
    const first = await start();
    await receivedAtLeast(server, 50);
    await first.stop();
    senders = [];
    expect(await query('select 1 from send_queue where owner is not null')).toHaveLength(0);
    expect(await query('select 1 from handovers')).toHaveLength(0);
    await start();
    await untilCounts({ sent: 600 });
    expect(server.received).toHaveLength(600);
  });
});

describe('a claim that the database forgot in a crash', () => {
  it('is repeated, and its message is sent once', async () => {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    await server.stop();
    server = await startSmtpServer({
      onMailFrom: (_address, _session, done) => void answered.then(() => done()),
    });
    await queueEmails(test.database, account, 80);
    await start({ connections: 1 });
    // The first batch is at the provider; the other claims wait in the sender.
    await eventually(async () =>
      expect(await query('select 1 from send_queue where owner is not null')).toHaveLength(60),
    );
    const forgotten = await query(
      `update send_queue set owner = null, claim_epoch = claim_epoch - 1
       where owner is not null and message_id not in (select unnest(message_ids) from handovers)
       returning message_id`,
    );
    expect(forgotten).toHaveLength(50);
    answer();
    await untilCounts({ sent: 80 });
    expect(server.received).toHaveLength(80);
  });
});

describe('the outcome of a message', () => {
  it('is a bounce and a suppression if the address does not exist', async () => {
    server.answers.rcpt = () => '550 5.1.1 no such user';
    await queueEmails(test.database, account, 1);
    await start();
    await untilCounts({ bounced: 1 });
    expect(await query('select bounce from messages')).toMatchObject([
      { bounce: { type: 'hard', subtype: 'no_such_mailbox' } },
    ]);
    expect(await query('select address_key, reason from suppressions')).toEqual([
      { address_key: 'u0@example.com', reason: 'hard_bounce' },
    ]);
    await queueEmails(test.database, account, 1);
    await untilCounts({ bounced: 1, failed: 1 });
    expect(await query(`select failure ->> 'code' as code from messages where status = 'failed'`)).toEqual([
      { code: 'suppressed' },
    ]);
  });

  it.each([
    ['550 mailbox unavailable', 'bounced', null],
    ['550 5.4.1 [u0@example.com]: Recipient address rejected: Access denied.', 'bounced', null],
    ['550 5.7.1 blocked', 'failed', 'content_rejected'],
    ['550 rejected as spam', 'failed', 'rejected'],
    ['550 5.1.8 bad sender domain', 'failed', 'sender_rejected'],
    ['552 5.3.4 too big', 'failed', 'content_rejected'],
    ['554 5.5.0 no', 'failed', 'rejected'],
  ])('after RCPT %p is %s', async (answer, status, code) => {
    server.answers.rcpt = () => answer;
    await queueEmails(test.database, account, 1);
    await start();
    await untilCounts({ [status]: 1 });
    const suppressed = await query('select 1 from suppressions');
    expect(suppressed).toHaveLength(status === 'bounced' ? 1 : 0);
    expect(await query(`select failure ->> 'code' as code from messages`)).toEqual([{ code }]);
  });

  it('is a scheduled retry after a temporary refusal', async () => {
    server.answers.rcpt = () => '451 4.7.1 greylisted';
    await queueEmails(test.database, account, 1);
    await start();
    await eventually(async () => {
      const [row] = await query<{ wait: number; attempt_count: number }>(
        'select extract(epoch from due_at - now())::int as wait, attempt_count from send_queue where owner is null',
      );
      expect(row?.attempt_count).toBe(1);
      expect(row?.wait).toBeGreaterThan(50);
    });
    expect(await query('select type, attempt from message_events')).toEqual([
      { type: 'deferred', attempt: 1 },
    ]);
    server.answers.rcpt = () => null;
    await makeAllDue(test.database);
    await untilCounts({ sent: 1 });
    expect(await query('select attempt_count from messages')).toEqual([{ attempt_count: 2 }]);
  });

  it('is a soft bounce, which does not suppress, if the mailbox is full for good', async () => {
    server.answers.rcpt = () => '552 5.2.2 mailbox full';
    await queueEmails(test.database, account, 1);
    await start();
    await untilCounts({ bounced: 1 });
    expect(await query('select bounce from messages')).toMatchObject([
      { bounce: { type: 'soft', subtype: 'mailbox_full' } },
    ]);
    expect(await query('select 1 from suppressions')).toEqual([]);
  });

  it('is a soft bounce after temporary refusals of the recipient for 72 hours', async () => {
    server.answers.rcpt = () => '450 4.2.1 mailbox busy';
    await queueEmails(test.database, account, 1, { queuedHoursAgo: 71 });
    await query('update send_queue set attempt_count = 5');
    await start();
    await untilCounts({ bounced: 1 });
    expect(await query('select bounce, failure from messages')).toMatchObject([
      { bounce: { type: 'soft', subtype: 'expired' }, failure: null },
    ]);
  });

  it('keeps a response that is cut within a character', async () => {
    server.answers.rcpt = () => `554 5.5.0 ${'x'.repeat(489)}🎉`;
    await queueEmails(test.database, account, 1);
    await start();
    await untilCounts({ failed: 1 });
  });

  it('is a failure after temporary refusals for 72 hours', async () => {
    server.answers.rcpt = () => '451 4.7.1 greylisted';
    await queueEmails(test.database, account, 1, { queuedHoursAgo: 71 });
    await query('update send_queue set attempt_count = 5');
    await start();
    await untilCounts({ failed: 1 });
    expect(await query(`select failure ->> 'code' as code from messages`)).toEqual([{ code: 'expired' }]);
  });

  it('counts no attempt while the provider is unavailable', async () => {
    const { port } = server;
    await server.stop();
    await queueEmails(test.database, account, 20);
    const { sender } = await start();
    await eventually(() => expect(sender.report().providers['email:smtp']?.state).toBe('open'));
    expect(await query('select distinct attempt_count, status from messages')).toEqual([
      { attempt_count: 0, status: 'queued' },
    ]);
    server = await startSmtpServer({}, port);
    await untilCounts({ sent: 20 });
    expect(await query('select distinct attempt_count from messages')).toEqual([{ attempt_count: 1 }]);
    expect(sender.report().providers['email:smtp']?.state).toBe('closed');
  });

  it.each([
    '421 4.3.2 closing',
    '530 5.7.0 authentication required',
    '554 5.7.1 client host rejected',
    '503 5.5.1 not now',
  ])('counts no attempt after %p in response to MAIL', async (answer) => {
    let refusals = 2;
    server.answers.mail = () => (refusals-- > 0 ? answer : null);
    await queueEmails(test.database, account, 10);
    await start();
    await untilCounts({ sent: 10 });
    expect(await query('select distinct attempt_count from messages')).toEqual([{ attempt_count: 1 }]);
  });
});

describe('a connection that ends while a message is refused', () => {
  it('counts an attempt of that message only, and opens the breaker the third time in a row', async () => {
    server.answers.rcpt = (to) => (to.startsWith('u1@') ? '421 4.3.2 closing' : null);
    await queueEmails(test.database, account, 3);
    const { sender } = await start();
    await untilCounts({ sent: 2, queued: 1 });
    expect(await query('select to_address, attempt_count from messages order by id')).toEqual([
      { to_address: 'u0@example.com', attempt_count: 1 },
      { to_address: 'u1@example.com', attempt_count: 1 },
      { to_address: 'u2@example.com', attempt_count: 1 },
    ]);
    server.answers.rcpt = () => '421 4.3.2 closing';
    await queueEmails(test.database, account, 1, { prefix: 'a' });
    await eventually(async () =>
      expect(await query(`select attempt_count from messages where to_address = 'a0@example.com'`)).toEqual([
        { attempt_count: 1 },
      ]),
    );
    await queueEmails(test.database, account, 1, { prefix: 'b' });
    await queueEmails(test.database, account, 1, { prefix: 'c' });
    await eventually(() => expect(sender.report().providers['email:smtp']?.state).not.toBe('closed'));
  });
});

describe('a message that may not be sent now', () => {
  it('is held by the rolling allowance until capacity returns', async () => {
    const limited = await insertAccount(test.database, 10);
    await queueEmails(test.database, limited, 15);
    await start();
    await untilCounts({ sent: 10, held: 5 }, limited.accountId);
    const [row] = await query<{ hold: { reason: string; until: string } }>(
      `select hold from messages where status = 'held'`,
    );
    expect(row?.hold.reason).toBe('allowance');
    const hours = (new Date(row?.hold.until ?? 0).getTime() - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(23.7);
    expect(hours).toBeLessThan(24.2);
    await query(`update allowance_buckets set bucket = bucket - interval '25 hours'`);
    await makeAllDue(test.database);
    await untilCounts({ sent: 15 }, limited.accountId);
  });

  it('is held even if several senders use up the allowance at once', async () => {
    const limited = await insertAccount(test.database, 137);
    await queueEmails(test.database, limited, 500);
    await Promise.all([start(), start(), start()]);
    await untilCounts({ sent: 137, held: 363 }, limited.accountId);
    expect(server.received).toHaveLength(137);
  });

  it('is held from the moment the account is paused until it resumes', async () => {
    await queueEmails(test.database, account, 1_000);
    await start();
    await receivedAtLeast(server, 20);
    await query('update accounts set sending_paused_at = now()');
    const intended = await query<{ count: number }>(
      'select coalesce(sum(cardinality(message_ids)), 0)::int as count from handovers',
    );
    await eventually(async () => expect(await query('select 1 from handovers')).toHaveLength(0));
    await eventually(async () => expect((await statusCounts(test.database)).queued).toBeUndefined());
    const arrived = server.received.length;
    expect(intended[0]?.count).toBeLessThanOrEqual(100);
    expect(
      await query(`select distinct hold ->> 'reason' as reason from messages where status = 'held'`),
    ).toEqual([{ reason: 'account_paused' }]);
    expect((await statusCounts(test.database)).held).toBe(1_000 - arrived);
    await resumeSending(test.database.pool, account.accountId);
    await untilCounts({ sent: 1_000 });
    expect(server.received).toHaveLength(1_000);
  });

  it('expires after 72 hours', async () => {
    await query('update accounts set sending_paused_at = now()');
    await queueEmails(test.database, account, 3, { queuedHoursAgo: 73 });
    await start();
    await untilCounts({ failed: 3 });
    expect(await query(`select distinct failure ->> 'code' as code from messages`)).toEqual([
      { code: 'expired' },
    ]);
  });

  it('takes no allowance after it has expired', async () => {
    const limited = await insertAccount(test.database, 5);
    await queueEmails(test.database, limited, 5, { prefix: 'old', queuedHoursAgo: 73 });
    await queueEmails(test.database, limited, 5, { prefix: 'new' });
    await start();
    await untilCounts({ failed: 5, sent: 5 }, limited.accountId);
  });

  it('is sent at once when an operator raises the allowance', async () => {
    const limited = await insertAccount(test.database, 1);
    await queueEmails(test.database, limited, 3);
    await start();
    await untilCounts({ sent: 1, held: 2 }, limited.accountId);
    await setAccount(test.database.pool, limited.accountId, { allowancePerDay: 10 });
    await untilCounts({ sent: 3 }, limited.accountId);
  });

  it('returns its reservation when it is refused', async () => {
    await queueEmails(test.database, account, 4);
    await query(
      `insert into suppressions (account_id, address_key, reason) select $1, 'u' || n || '@example.com', 'manual' from generate_series(0, 2) n`,
      [account.accountId],
    );
    await start();
    await untilCounts({ sent: 1, failed: 3 });
    expect(await query('select used from allowance_buckets')).toEqual([{ used: 1 }]);
  });

  it('is sent if its suppression has expired', async () => {
    await queueEmails(test.database, account, 1);
    await query(
      `insert into suppressions (account_id, address_key, reason, expires_at) values ($1, 'u0@example.com', 'soft_bounce', now() - interval '1 hour')`,
      [account.accountId],
    );
    await start();
    await untilCounts({ sent: 1 });
  });
});

describe('a sender that dies', () => {
  const claimAll = (owner: number) =>
    claimBacklog(
      test.database.pool,
      {
        channel: 'email',
        class: messageClasses.transactional,
        accountId: account.accountId,
        owner,
        quantum: 100,
      },
      TEST_LIMITS,
    );

  const intend = (owner: number, claims: Claim[]) =>
    intendMessages(test.database.pool, { owner, seq: 1, provider: 'smtp', keyring: testKeyring, claims });

  it('loses its claims; of its intents, only transactional messages are sent again', async () => {
    await queueEmails(test.database, account, 6);
    await query(`update messages set class = 2 where id in (select id from messages order by id limit 2)`);
    const owner = 76;
    await insertSender(test.database, 76);
    const claims = await claimAll(owner);
    await intend(owner, claims.slice(0, 4));
    expect(await recoverProcess(test.database.pool, owner, upkeep.processWork)).toBe(true);
    expect(await statusCounts(test.database)).toEqual({ unknown: 4, queued: 2 });
    expect(await query('select count(*) from send_queue where owner is null')).toEqual([{ count: 4 }]);
    await start();
    await untilCounts({ unknown: 2, sent: 4 });
    expect(server.received).toHaveLength(4);
  });

  it('can claim nothing after it was reaped', async () => {
    await queueEmails(test.database, account, 3);
    expect(await claimAll(75)).toEqual([]);
    expect(await query('select 1 from send_queue where owner is not null')).toHaveLength(0);
  });

  it('leaves its claims to the reaper, even if it stopped cleanly', async () => {
    await queueEmails(test.database, account, 3);
    const stopping = await registerProcess({ url: test.url }, 'sender', upkeep.processWork);
    const id = stopping.id() ?? 0;
    await claimAll(id);
    await stopping.close();
    await query(`update processes set seen_at = seen_at - interval '10 seconds' where id = $1`, [id]);
    await start();
    await eventually(async () =>
      expect(await recoverProcess(test.database.pool, id, upkeep.processWork)).toBe(true),
    );
    await untilCounts({ sent: 3 });
  });

  it('gives back only its own claim, not a newer one of the same message', async () => {
    await queueEmails(test.database, account, 1);
    await insertSender(test.database, 79);
    const [old] = await claimAll(79);
    await query('update send_queue set owner = null');
    const [newer] = await claimAll(79);
    await releaseClaims(test.database.pool, 79, old ? [old] : []);
    expect(await query('select owner, claim_epoch as epoch from send_queue')).toEqual([
      { owner: 79, epoch: newer?.epoch },
    ]);
  });

  it('cannot write an intent after it was reaped', async () => {
    await queueEmails(test.database, account, 3);
    await insertSender(test.database, 77);
    const claims = await claimAll(77);
    expect(claims).toHaveLength(3);
    await query('delete from processes where id = 77');
    expect(await intend(77, claims)).toEqual([]);
    expect(await query('select 1 from handovers')).toHaveLength(0);
  });

  it.each([
    ['transactional', 0],
    ['campaign', 2],
  ])('leaves a %s message of its intent to the sender that owns it now', async (_name, messageClass) => {
    await queueEmails(test.database, account, 3);
    for (const id of [80, 81]) await insertSender(test.database, id);
    const claims = await claimAll(80);
    await query('update messages set class = $1', [messageClass]);
    // The reply to this commit is lost, so the first two messages are given back, and another sender claims them.
    await intend(80, claims);
    await releaseClaims(test.database.pool, 80, claims.slice(0, 2));
    const others = await claimAll(81);
    expect(others).toHaveLength(2);

    await recoverDeadSender(test.database.pool, 80);
    expect(await query('select 1 from handovers')).toHaveLength(0);
    expect(
      await query(
        'select message_id as "messageId", claim_epoch as epoch from send_queue where owner = 81 order by 1',
      ),
    ).toEqual(others.map(({ messageId, epoch }) => ({ messageId, epoch })));
    expect(await statusCounts(test.database)).toEqual({ queued: 2, unknown: 1 });
    expect(await query('select distinct message_id from message_events')).toEqual([
      { message_id: claims[2]?.messageId },
    ]);
    const batch = await intend(81, others);
    expect(batch.map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  it('can still record its outcomes', async () => {
    await queueEmails(test.database, account, 2);
    await insertSender(test.database, 78);
    const claims = await claimAll(78);
    const batch = await intend(78, claims);
    await recoverDeadSender(test.database.pool, 78);
    expect(await statusCounts(test.database)).toEqual({ unknown: 2 });
    const accepted = {
      kind: 'accepted',
      providerMessageId: null,
      response: '250 ok',
      delivered: false,
    } as const;
    const outcomes = batch.map((message) => outcomeRecord(message, 'smtp', accepted));
    const recordBatches = createBatchRecording({ pool: test.database.pool, events: testEvents });
    await recordBatches([{ owner: 78, seq: 1, outcomes }]);
    await recordBatches([{ owner: 78, seq: 1, outcomes }]);
    expect(await statusCounts(test.database)).toEqual({ sent: 2 });
    expect(await query('select 1 from send_queue')).toHaveLength(0);
    expect(await emailsSent(test.database.pool, account.accountId)).toBe(2);
  });
});
