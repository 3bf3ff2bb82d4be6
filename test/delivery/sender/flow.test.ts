// A flow message is sent only with consent at the hand-over, and counts for its contact and flow.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { intendMessages } from '../../../src/delivery/ledger/intend/queue-batch.ts';
import { cancelMessages } from '../../../src/delivery/ledger/cancel/cancel.ts';
import type { ContentEngine } from '../../../src/delivery/content/templates/content.ts';
import { createContentEngine } from '../../../src/delivery/content/templates/engine.ts';
import { createSharedValues } from '../../../src/delivery/sender/compose/shared-values.ts';
import { createVersionReader } from '../../../src/delivery/content/templates/versions.ts';
import { recordFacts } from '../../../src/delivery/ledger/facts/facts.ts';
import { recordOptOut } from '../../../src/delivery/ledger/consent/opt-outs.ts';
import { createSmtpProvider } from '../../../src/delivery/wire/providers/smtp/hand-over.ts';
import { claimBacklog } from '../../../src/delivery/ledger/claim/claim.ts';
import { recoverDeadSender } from '../../../src/delivery/ledger/upkeep/dead-process.ts';
import { createEmailChannel } from '../../../src/delivery/sender/email/hand-over.ts';
import { keepUnapplied } from '../../../src/delivery/ledger/consent/unapplied-opt-outs.ts';
import { optOutHashes } from '../../../src/delivery/ledger/consent/opt-outs.ts';
import { brakeFlows } from '../../../src/features/flows/brakes.ts';
import { foldFlowCounts, readFlowCounts } from '../../../src/features/flows/counts.ts';
import { createBrandOf, brandValues } from '../../../src/features/templates/brand-parts.ts';
import { decideFetches } from '../../../src/features/tracking/decisions.ts';
import { storeHits } from '../../../src/features/tracking/hits.ts';
import { createRecipientPages } from '../../../src/features/unsubscribe/service.ts';
import { inTransaction } from '../../../src/platform/db/queryable.ts';
import { createTestTenant } from '../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { insertVerifiedDomain } from '../../support/domains.ts';
import { testEvents } from '../../support/events.ts';
import { eventually } from '../../support/eventually.ts';
import {
  send,
  type TestContact,
  type TestContent,
  testFlowSender,
  writeContact,
  writeFlow,
  writeRun,
} from '../../support/flow-sends.ts';
import { insertAccount, insertSender, type QueuedAccount, queueEmails } from '../../support/queued.ts';
import {
  emailSettings,
  receivedAtLeast,
  startSmtpServer,
  startTestSender,
  TEST_LIMITS,
  type TestSender,
  type TestSmtpServer,
} from '../../support/sending.ts';
import { hitOn, targetsOf } from '../../support/tracking.ts';
import { addWebhook, testKeyring } from '../../support/webhooks.ts';

const PUBLIC_URL = 'https://app.test';
const OWNER = 90;

let test: TestDatabase;
let engine: ContentEngine;
let server: TestSmtpServer;
let account: QueuedAccount;
let senders: TestSender[] = [];

beforeAll(async () => {
  test = await createTestDatabase();
  engine = createContentEngine({ threads: 1 });
  await insertSender(test.database, OWNER);
});
afterAll(async () => {
  await engine.close();
  await test.drop();
});
beforeEach(async () => {
  server = await startSmtpServer();
  account = await insertAccount(test.database);
});
afterEach(async () => {
  await Promise.all(senders.map((sender) => sender.stop()));
  senders = [];
  await server.stop();
  await test.database.pool.query('delete from send_queue');
});

async function startSender(port = server.port): Promise<void> {
  const { pool } = test.database;
  const target = { host: '127.0.0.1', port, security: 'none', clientName: 'mail.test' } as const;
  const brandOf = createBrandOf(pool, testKeyring, PUBLIC_URL);
  const contents = {
    versions: createVersionReader(pool),
    shared: createSharedValues(pool, async (scope) => brandValues(await brandOf(scope))),
    engine,
    pages: createRecipientPages(testKeyring, PUBLIC_URL),
  };
  const provider = createSmtpProvider({ target, connections: 2 });
  const channel = createEmailChannel(provider, { ...emailSettings(), contents });
  senders.push(await startTestSender({ url: test.url, port, channel }));
}

const query = async (sql: string, values: unknown[] = []) =>
  (await test.database.pool.query<Record<string, unknown>>(sql, values)).rows;

async function queueOne(
  content: TestContent = {},
  contact: TestContact = {},
  event: Record<string, unknown> | null = null,
) {
  const { flowId, steps } = await writeFlow(test.database, account, [content]);
  const contactId = await writeContact(test.database, account, contact);
  const run = await writeRun(test.database, account, flowId, contactId, { event });
  const { messageId } = await send(test.database, testFlowSender(), run, steps[0]);
  return { flowId, contactId, messageId, run, step: steps[0] };
}

const messageOf = async (id: number) => (await query('select * from messages where id = $1', [id]))[0] ?? {};

async function ended(id: number, status: string): Promise<void> {
  await eventually(async () => expect(await messageOf(id)).toMatchObject({ status }));
}

async function foldAll(): Promise<void> {
  while (await foldFlowCounts(test.database.pool));
}

const countsOf = async (flowId: number) => {
  await foldAll();
  const counts = await readFlowCounts(test.database.pool, flowId, { from: null, to: null });
  return Object.fromEntries(counts.flatMap(({ name, count }) => (count === 0 ? [] : [[name, count]])));
};

/** Inserts a mail that arrived. @returns its id */
async function insertMail(internetId: string | null, references: readonly string[]): Promise<number> {
  const { accountId, brandId } = account;
  const [row] = await query(
    `with i as (
       insert into inboxes (account_id, brand_id, address, address_key)
       values ($1, $2, $5, $5) returning id
     )
     insert into conversation_messages (account_id, brand_id, inbox_id, direction, from_address, internet_id,
       reference_ids)
     select $1, $2, id, 'inbound', 'ada@example.com', $3, $4 from i returning id`,
    [accountId, brandId, internetId, references, `help${Math.random()}@help.test`],
  );
  return Number(row?.id);
}

/** The event of a run that a mail caused. */
const causedBy = (mailId: number) => ({
  ...{ id: 7, name: 'email_received', data: { subject: 'Hi' }, created_at: '2026-03-01T00:00:00Z' },
  mail: { conversation_message_id: mailId, inbox_id: 7, auto_submitted: false },
});

describe('a message of a flow', () => {
  it('is rendered with its contact, the event and its links, as mail of a flow', async () => {
    const { messageId, flowId } = await queueOne(
      {
        subject: 'Your {{ event.data.item }}',
        html: '<p>{{ contact.first_name }} {{ contact.data.plan }} {{ event.event }} {{ event.data.item }}</p><a href="{{ unsubscribe_url }}">out</a>',
        text: '{{ event.data.item }} {{ preferences_url }}',
        paths: ['first_name', 'data.plan'],
      },
      { data: { plan: 'pro' } },
      { id: 7, name: 'order_placed', data: { item: 'lamp' }, created_at: '2026-03-01T00:00:00Z' },
    );
    await startSender();
    await receivedAtLeast(server, 1);
    const raw = server.received[0]?.raw ?? '';
    expect(raw).toContain('Subject: Your lamp');
    expect(raw.replaceAll('=\r\n', '')).toContain('Ada pro order_placed lamp');
    expect(raw).toMatch(/^List-Unsubscribe: <https:\/\/app\.test\/unsubscribe\//m);
    expect(raw).toMatch(/^List-Unsubscribe-Post: List-Unsubscribe=One-Click/m);
    expect(raw).toContain(`Feedback-ID: ${flowId}:${account.brandId}:flow:carillon`);
    expect(raw).toMatch(/^Precedence: bulk/m);
    await ended(messageId, 'sent');
  });

  it('that answers a mail is marked as automatic, and is in the thread of the mail', async () => {
    const mailId = await insertMail('asked@client.test', ['first@client.test', 'started@client.test']);
    await queueOne({ subject: '{{ event.event }}|{{ event.mail }}|' }, {}, causedBy(mailId));
    await queueOne({}, { email: 'other@example.com' }, { id: 8, name: 'order_placed' });
    await startSender();
    await receivedAtLeast(server, 2);
    const raws = server.received.map(({ raw }) => raw.replaceAll('\r\n ', ' '));
    const answer = raws.find((raw) => raw.includes('To: ada@example.com')) ?? '';
    expect(answer).toMatch(/^Auto-Submitted: auto-replied\r$/m);
    expect(answer).toMatch(/^In-Reply-To: <asked@client.test>\r$/m);
    expect(answer).toMatch(/^References: <started@client.test> <first@client.test> <asked@client.test>\r$/m);
    expect(answer).toMatch(/^List-Unsubscribe: /m);
    expect(answer).toContain('Subject: email_received||\r\n');
    const other = raws.find((raw) => raw.includes('To: other@example.com')) ?? '';
    expect(other).not.toMatch(/^(Auto-Submitted|In-Reply-To|References):/m);
  });

  it('that answers a mail is marked as automatic even if the mail has no id or has been deleted', async () => {
    const foreign = account;
    const foreignId = await insertMail('foreign@client.test', []);
    account = await insertAccount(test.database);
    for (const [index, mailId] of [await insertMail(null, []), 999_999_999, foreignId].entries()) {
      await queueOne({}, { email: `a${index}@example.com` }, causedBy(mailId));
    }
    await startSender();
    await receivedAtLeast(server, 3);
    for (const { raw } of server.received) {
      expect(raw).toMatch(/^Auto-Submitted: auto-replied\r$/m);
      expect(raw).not.toMatch(/^(In-Reply-To|References):/m);
    }
    expect(foreign.brandId).not.toBe(account.brandId);
  });

  it('publishes no events, and counts for contact and flow', async () => {
    const tenant = await createTestTenant(test.database, 'Acme');
    account = tenant;
    await addWebhook(test.database, tenant, 'https://hooks.example.test', ['email.sent', 'email.opened']);
    const { messageId, flowId, contactId } = await queueOne();
    await startSender();
    await ended(messageId, 'sent');
    expect(await query('select 1 from events where brand_id = $1', [account.brandId])).toEqual([]);
    expect(await query('select kind from contact_engagement where message_id = $1', [messageId])).toEqual([
      { kind: 0 },
    ]);
    expect(
      await query('select sent_count from contact_channel_counts where contact_id = $1', [contactId]),
    ).toEqual([{ sent_count: 1 }]);
    expect(await countsOf(flowId)).toEqual({ accepted: 1, sent: 1 });
    expect(await query('select sent_count from flows where id = $1', [flowId])).toEqual([{ sent_count: 1 }]);
  });

  it('is sent alongside transactional mail and mail that was not written by a run', async () => {
    const { messageId, flowId } = await queueOne();
    await queueEmails(test.database, account, 3, { prefix: 'plain' });
    await queueEmails(test.database, account, 2, { prefix: 'old', source: { class: 1, flow_id: flowId } });
    await startSender();
    await receivedAtLeast(server, 6);
    await ended(messageId, 'sent');
  });

  it('counts the first open and click by a person', async () => {
    const { messageId, flowId } = await queueOne();
    await query(`update messages set status = 'sent', sent_at = now() - interval '1 hour' where id = $1`, [
      messageId,
    ]);
    const [pixel, first, second] = targetsOf(account, messageId, 2);
    if (!pixel || !first || !second) throw new Error('no targets');
    const at = new Date(Date.now() - 600_000);
    const later = new Date(at.getTime() + 120_000);
    await storeHits(test.database.pool, [hitOn(pixel, at), hitOn(first, at), hitOn(second, later)]);
    await decideFetches({ pool: test.database.pool, events: testEvents }, new Date());
    await storeHits(test.database.pool, [hitOn(pixel, later)]);
    await decideFetches({ pool: test.database.pool, events: testEvents }, new Date());
    expect(await countsOf(flowId)).toEqual({ accepted: 1, opened: 1, clicked: 1 });
    const kinds = await query('select kind from contact_engagement where message_id = $1 order by kind', [
      messageId,
    ]);
    expect(kinds).toEqual([{ kind: 1 }, { kind: 2 }]);
  });
});

it('is held while the domain of its sender has lost its verification', async () => {
  const domainId = await insertVerifiedDomain(test.database, account, 'lost.test');
  await query(`update domains set status = 'failed', lost_at = now() where id = $1`, [domainId]);
  const { messageId } = await queueOne({ fromEmail: 'hi@lost.test' });
  await startSender();
  await ended(messageId, 'held');
  expect(await messageOf(messageId)).toMatchObject({ hold: { reason: 'domain_unverified' } });
  expect(server.received).toEqual([]);
});

describe('consent before the hand-over', () => {
  it.each([
    ['unsubscribed', `update contacts set email_subscribed = false where id = $1`],
    ['contact_deleted', 'delete from contacts where id = $1'],
    [
      'no_address',
      `update contacts set email = 'new@example.com', email_key = 'new@example.com' where id = $1`,
    ],
  ])('skips a message with %s', async (code, change) => {
    const { messageId, contactId, flowId } = await queueOne();
    await query(change, [contactId]);
    await startSender();
    await ended(messageId, 'skipped');
    expect(await messageOf(messageId)).toMatchObject({ failure: { code }, sent_at: null });
    expect(server.received).toEqual([]);
    expect(await countsOf(flowId)).toEqual({ accepted: 1, skipped: 1 });
  });

  it('skips a message to an address that has been suppressed since', async () => {
    const { messageId } = await queueOne();
    await query(
      `insert into suppressions (account_id, address_key, email, reason) values ($1, $2, $2, 'complaint')`,
      [account.accountId, 'ada@example.com'],
    );
    await startSender();
    await ended(messageId, 'skipped');
    expect(await messageOf(messageId)).toMatchObject({ failure: { code: 'suppressed' } });
  });

  it('skips a message to a recipient whose opt-out is not applied to the contact yet', async () => {
    const { messageId } = await queueOne();
    const address = { brandId: account.brandId, channel: 'email', address: 'ada@example.com' } as const;
    const { pool } = test.database;
    const optOut = { accountId: account.accountId, source: 'one_click', messageId: null } as const;
    await recordOptOut(pool, testKeyring, { ...address, ...optOut });
    const [hash = Buffer.alloc(0)] = optOutHashes(testKeyring, address);
    await keepUnapplied(pool, address, hash, 3_600);
    await startSender();
    await ended(messageId, 'skipped');
    expect(await messageOf(messageId)).toMatchObject({ failure: { code: 'unsubscribed' } });
  });
});

describe('outcomes', () => {
  const hard = '550 5.1.1 no such user';

  it('counts a bounce at hand-over, and suppresses the address', async () => {
    server.answers.rcpt = () => hard;
    const { messageId, flowId } = await queueOne();
    await startSender();
    await ended(messageId, 'bounced');
    expect(await countsOf(flowId)).toEqual({ accepted: 1, bounced: 1 });
    const outcomes = 'select attempted, hard_bounces, complaints from flow_outcomes where flow_id = $1';
    expect(await query(outcomes, [flowId])).toEqual([{ attempted: 1, hard_bounces: 1, complaints: 0 }]);
    expect(await query('select reason from suppressions where account_id = $1', [account.accountId])).toEqual(
      [{ reason: 'hard_bounce' }],
    );
  });

  it('pauses the flow when too many of its emails bounce', async () => {
    const tenant = await createTestTenant(test.database, 'Bouncing');
    account = tenant;
    await addWebhook(test.database, tenant, 'https://hooks.example.test', ['flow.paused']);
    server.answers.rcpt = (to) => (to.startsWith('gone') ? hard : null);
    const { flowId, steps } = await writeFlow(test.database, account);
    const sender = testFlowSender();
    for (let n = 0; n < 40; n += 1) {
      const contactId = await writeContact(test.database, account, {
        email: `${n < 4 ? 'gone' : 'there'}${n}@example.com`,
      });
      await send(test.database, sender, await writeRun(test.database, account, flowId, contactId), steps[0]);
    }
    await startSender();
    await eventually(async () => {
      expect(await countsOf(flowId)).toMatchObject({ sent: 36, bounced: 4 });
    }, 60_000);
    // The last of them may have been counted after the fold before.
    await foldAll();
    const limits = { bounceRate: 0.1, minBounces: 4, complaintRate: 1, minComplaints: 5, minCounted: 40 };
    const deps = { pool: test.database.pool, events: testEvents };
    const brake = (changes: object) =>
      brakeFlows(deps, { ...limits, ...changes }, new Date(), () => undefined);
    const queued: string[] = [];
    await brakeFlows(deps, limits, new Date(), (work) => queued.push(...work.keys()));
    expect(queued).toEqual(['webhook']);
    expect(await brake({})).toEqual([]);
    expect(await query('select status, stop from flows where id = $1', [flowId])).toMatchObject([
      { status: 'paused', stop: { reason: 'bounce_rate', rate: 0.1, threshold: 0.1 } },
    ]);
    expect(await query('select data from events where brand_id = $1', [account.brandId])).toMatchObject([
      { data: { flow_id: flowId, sent_count: 36, cause: { reason: 'bounce_rate', rate: 0.1 } } },
    ]);
  });

  /** Claims and intends the message of a flow, and lets its sender die. */
  async function leaveUnknown(unknown: 'leave' | 'resend' = 'leave') {
    const sent = await queueOne();
    await query('update flows set unknown = $2 where id = $1', [sent.flowId, unknown]);
    const request = {
      channel: 'email',
      class: 1,
      accountId: account.accountId,
      owner: OWNER,
      quantum: 10,
    } as const;
    const claims = await claimBacklog(test.database.pool, request, TEST_LIMITS);
    const batch = { owner: OWNER, seq: sent.messageId, provider: 'smtp', claims, keyring: testKeyring };
    expect(await intendMessages(test.database.pool, batch)).toMatchObject([{ verdict: 'send' }]);
    await inTransaction(test.database.pool, (trx) => recoverDeadSender(trx, OWNER));
    return sent;
  }

  it('leaves a message unknown if its sender died, and does not send it again', async () => {
    const { messageId, flowId } = await leaveUnknown();
    expect(await messageOf(messageId)).toMatchObject({ status: 'unknown' });
    expect(await query('select 1 from send_queue where message_id = $1', [messageId])).toEqual([]);
    expect(await countsOf(flowId)).toEqual({ accepted: 1, unknown: 1 });
  });

  it('sends it again if its flow says so, and counts that', async () => {
    const { messageId, flowId } = await leaveUnknown('resend');
    expect(await messageOf(messageId)).toMatchObject({ status: 'unknown', attempt_count: 1 });
    const queued = 'select owner, attempt_count, flow_id from send_queue where message_id = $1';
    expect(await query(queued, [messageId])).toEqual([{ owner: null, attempt_count: 1, flow_id: flowId }]);
    expect(await countsOf(flowId)).toEqual({ accepted: 1, unknown: 1 });
    await startSender();
    await ended(messageId, 'sent');
    expect(await messageOf(messageId)).toMatchObject({ attempt_count: 2, sent_attempt: 2 });
    expect(await countsOf(flowId)).toEqual({ accepted: 1, sent: 1, resent: 1 });
    expect(await query(queued, [messageId])).toEqual([]);
  });

  it('sends it again with the same Message-ID and Date, and records a late reply of the sender that seemed dead', async () => {
    const reply = Promise.withResolvers<void>();
    const mails: string[] = [];
    const slow = await startSmtpServer({
      onData(stream, _session, done) {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const number = mails.push(Buffer.concat(chunks).toString('utf8'));
          if (number > 1) done();
          else void reply.promise.then(() => done());
        });
      },
    });
    try {
      const { messageId, flowId } = await queueOne();
      await query(`update flows set unknown = 'resend' where id = $1`, [flowId]);
      await startSender(slow.port);
      await eventually(() => expect(mails).toHaveLength(1));
      const owner = senders[0]?.process.id() ?? 0;
      await inTransaction(test.database.pool, (trx) => recoverDeadSender(trx, owner));
      await startSender(slow.port);
      await ended(messageId, 'sent');
      const headers = ['Message-ID', 'Date'].map((name) => new RegExp(`^${name}: .*$`, 'im'));
      const [first = [], second] = mails.map((mail) => headers.map((header) => header.exec(mail)?.[0]));
      expect(first.every((header) => header !== undefined)).toBe(true);
      expect(second).toEqual(first);
      reply.resolve();
      await Promise.all(senders.splice(0).map((sender) => sender.stop()));
      expect(mails).toHaveLength(2);
      expect(await messageOf(messageId)).toMatchObject({ status: 'sent', attempt_count: 2, sent_attempt: 2 });
      expect(await countsOf(flowId)).toEqual({ accepted: 1, sent: 1, resent: 1 });
      expect(await query('select 1 from send_queue where message_id = $1', [messageId])).toEqual([]);
    } finally {
      reply.resolve();
      await Promise.all(senders.splice(0).map((sender) => sender.stop()));
      await slow.stop();
    }
  });

  it('counts later reports', async () => {
    const { messageId, flowId } = await leaveUnknown();
    const { pool } = test.database;
    const report = async (type: 'delivered' | 'complained', occurredAt: Date) =>
      inTransaction(pool, (trx) =>
        recordFacts(
          trx,
          [
            {
              ...{ accountId: account.accountId, messageId, source: { kind: 'mail' }, type, occurredAt },
              ...{ providerMessageId: null, response: null, bounce: null, failure: null, suppresses: true },
            },
          ],
          testEvents,
        ),
      );
    await report('delivered', new Date());
    await report('delivered', new Date());
    expect(await countsOf(flowId)).toEqual({ accepted: 1, sent: 1, delivered: 1 });
    await report('complained', new Date());
    await report('complained', new Date());
    expect(await countsOf(flowId)).toEqual({ accepted: 1, sent: 1, delivered: 1, complained: 1 });
    const outcomes =
      'select sum(attempted)::int as a, sum(complaints)::int as c from flow_outcomes where flow_id = $1';
    expect(await query(outcomes, [flowId])).toEqual([{ a: 1, c: 1 }]);
  });

  it('skips a waiting message if its contact is deleted', async () => {
    const { messageId, flowId } = await queueOne();
    await inTransaction(test.database.pool, (trx) =>
      cancelMessages(trx, [messageId], 'the contact was deleted'),
    );
    expect(await messageOf(messageId)).toMatchObject({
      ...{ status: 'skipped', failure: { code: 'contact_deleted', message: 'the contact was deleted' } },
    });
    expect(await countsOf(flowId)).toEqual({ accepted: 1, skipped: 1 });
  });
});
