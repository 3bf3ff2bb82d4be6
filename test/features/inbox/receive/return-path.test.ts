// A reply to the return path of a message goes to the message's inbox; a bounce that is understood never does.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MailListener } from '../../../../src/delivery/wire/inbound/listener.ts';
import { listOperatorMails } from '../../../../src/delivery/wire/inbound/operator-mails.ts';
import { returnPathAddress } from '../../../../src/delivery/terms/addresses/return-path.ts';
import { createTestTenant, type TestTenant } from '../../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import { deliver, deliverToAll, startTestListener, testMailKeys } from '../../../support/inbound.ts';
import { allowInboxes, insertInbox } from '../../../support/inboxes.ts';
import { queueEmails } from '../../../support/queued.ts';
import { startTestAcceptance, type TestAcceptance } from '../../../support/receiving.ts';
import {
  autoReply,
  deliveryStatus,
  feedbackReport,
  qmailBounce,
  readReceipt,
} from '../../../support/reports.ts';

let test: TestDatabase;
let tenant: TestTenant;
let inboxId: number;
let acceptance: TestAcceptance;
let listener: MailListener;

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await createTestTenant(test.database, 'Acme');
  await allowInboxes(test.database, tenant.accountId);
  await insertVerifiedDomain(test.database, tenant, 'acme.example');
  inboxId = await insertInbox(test.database, tenant, 'support@acme.example');
  acceptance = startTestAcceptance(test.url, test.database);
  listener = await startTestListener(test.url, { inboxes: acceptance.inboxes });
});
beforeEach(async () => {
  await test.database.pool.query('delete from inbound_mails; delete from operator_mails');
});
afterAll(async () => {
  await listener.stop();
  await acceptance.stop();
  await test.drop();
});

const returnPathOf = (messageId: number) =>
  returnPathAddress(
    testMailKeys.returnPaths[0] ?? Buffer.alloc(0),
    { accountId: tenant.accountId, messageId },
    'mail.test',
  );

/** A message that was sent with these addresses. */
async function sent(fields: { from?: string; replyTo?: string } = {}): Promise<number> {
  const [id = 0] = await queueEmails(test.database, tenant, 1, { prefix: 'ann' });
  await test.database.pool.query(
    `update messages set from_address = $2, reply_to = $3, status = 'sent', sent_at = now(), sent_attempt = 1,
       provider = 'smtp' where id = $1`,
    [id, fields.from ?? 'News <news@acme.example>', fields.replyTo ?? null],
  );
  await test.database.pool.query('delete from send_queue');
  return id;
}

const reported = (messageId: number) => ({
  returnPath: returnPathOf(messageId),
  to: 'ann0@example.com',
  messageId: 'x@mail.test',
});
const person = 'From: Ann <ann@example.com>\r\nSubject: Re: News\r\n\r\nThank you!\r\n';
const vacation = autoReply('Auto-Submitted: auto-replied\n');

describe('a reply to the return path', () => {
  it.each([
    ['an automatic reply', { replyTo: 'support@acme.example' }, vacation, ''],
    ['an older automatic reply', { replyTo: 'support@acme.example' }, autoReply('X-Autoreply: yes\n'), ''],
    ['a person', { replyTo: 'Help <Support+1@acme.example>' }, person, 'ann@example.com'],
    ['a person', { from: 'Acme <support@acme.example>' }, person, 'ann@example.com'],
    [
      'a person, large',
      { from: 'support@acme.example' },
      person + 'x\r\n'.repeat(100_000),
      'ann@example.com',
    ],
  ])('by %s goes to the inbox of a message with %j', async (_who, fields, data, from) => {
    const id = await sent(fields);
    expect(await deliver(listener.port, { to: returnPathOf(id), from, data })).toBe('250 2.0.0');
    expect(await acceptance.mails()).toMatchObject([
      {
        inbox_id: inboxId,
        recipient: 'support@acme.example',
        answers_message_id: id,
        envelope_from: from,
        size: Buffer.byteLength(data),
      },
    ]);
  });

  it('is ignored if the message was not sent for an inbox of its brand', async () => {
    const stranger = await createTestTenant(test.database, 'Stranger');
    await allowInboxes(test.database, stranger.accountId);
    await insertVerifiedDomain(test.database, stranger, 'stranger.example');
    await insertInbox(test.database, stranger, 'sales@stranger.example');
    for (const fields of [{}, { replyTo: 'sales@stranger.example' }, { replyTo: 'ann@example.com' }]) {
      const id = await sent(fields);
      expect(await deliver(listener.port, { to: returnPathOf(id), data: vacation })).toBe('250 2.0.0');
    }
    expect(await deliver(listener.port, { to: returnPathOf(999_999), data: vacation })).toBe('250 2.0.0');
    expect(await acceptance.mails()).toEqual([]);
  });

  it('counts for the limits of its sender, like mail to the inbox itself', async () => {
    const limited = await startTestListener(test.url, {
      inboxes: acceptance.inboxes,
      limits: { senderPerMinute: 1 },
    });
    const to = returnPathOf(await sent({ replyTo: 'support@acme.example' }));
    const replies: string[] = [];
    for (const from of ['ann@example.com', 'ann@example.com', 'bob@example.com'])
      replies.push(await deliver(limited.port, { to, from, data: person }));
    await limited.stop();
    expect(replies).toEqual(['250 2.0.0', '451 4.7.1', '250 2.0.0']);
    expect(await acceptance.mails()).toHaveLength(2);
  });

  it('is one mail if it was sent to the inbox, too', async () => {
    const id = await sent({ replyTo: 'support@acme.example' });
    expect(await deliverToAll(listener.port, ['support@acme.example', returnPathOf(id)], person)).toBe('250');
    expect(await acceptance.mails()).toMatchObject([{ answers_message_id: id }]);
  });
});

describe('a bounce to the return path', () => {
  it('is recorded, and is no mail to the inbox', async () => {
    for (const write of [
      deliveryStatus,
      (mail: Parameters<typeof deliveryStatus>[0]) =>
        qmailBounce(mail, 'no mailbox here by that name. (#5.1.1)'),
    ]) {
      const id = await sent({ replyTo: 'support@acme.example' });
      expect(await deliver(listener.port, { to: returnPathOf(id), data: write(reported(id)) })).toBe(
        '250 2.0.0',
      );
      const { rows } = await test.database.pool.query('select status from messages where id = $1', [id]);
      expect(rows).toEqual([{ status: 'bounced' }]);
    }
    expect(await acceptance.mails()).toEqual([]);
  });

  it('that only says that the message is late is no mail to the inbox', async () => {
    const id = await sent({ replyTo: 'support@acme.example' });
    const data = deliveryStatus(reported(id), { action: 'delayed', status: '4.4.1' });
    expect(await deliver(listener.port, { to: returnPathOf(id), data })).toBe('250 2.0.0');
    expect(await acceptance.mails()).toEqual([]);
    expect(await listOperatorMails(test.database.pool)).toEqual([]);
  });
});

const unknownForm = 'From: Mail Delivery System <MAILER-DAEMON@mx.example.com>\r\n\r\nSorry.\r\n';
const unread: [string, string, (id: number) => string][] = [
  ['an unknown form', '', () => unknownForm],
  [
    'an unknown report',
    '',
    () => 'From: mx@example.com\r\nContent-Type: multipart/report; boundary=a\r\n\r\n--a--\r\n',
  ],
  ['the sender of a server', 'MAILER-DAEMON@mx.example.com', () => person],
  ['an unknown action', '', (id) => deliveryStatus(reported(id), { action: 'mislaid', status: '5.0.0' })],
  ['an action that its status contradicts', '', (id) => deliveryStatus(reported(id), { status: '2.0.0' })],
  [
    'a warning in words',
    '',
    () =>
      'From: postmaster@mx.example.com\r\nSubject: Delayed\r\n\r\nYour message has not been delivered yet.\r\n',
  ],
  ['an unknown feedback type', '', (id) => feedbackReport(reported(id), 'misc')],
  ['a read receipt', '', () => readReceipt],
];

describe('a report that is not understood', () => {
  const statusOf = async (id: number) => {
    const { rows } = await test.database.pool.query('select status from messages where id = $1', [id]);
    return rows;
  };

  it.each(unread)(
    'with %s is an automatic mail to the inbox, and never a bounce',
    async (_form, from, write) => {
      const id = await sent({ replyTo: 'support@acme.example' });
      expect(await deliver(listener.port, { to: returnPathOf(id), from, data: write(id) })).toBe('250 2.0.0');
      expect(await acceptance.mails()).toMatchObject([
        { inbox_id: inboxId, recipient: 'support@acme.example', answers_message_id: id, report_claims: 0 },
      ]);
      expect(await statusOf(id)).toEqual([{ status: 'sent' }]);
      expect(await listOperatorMails(test.database.pool)).toEqual([]);
    },
  );

  it('is mail to the operator if there is no inbox', async () => {
    const id = await sent();
    expect(await deliver(listener.port, { to: returnPathOf(id), data: unknownForm })).toBe('250 2.0.0');
    expect(await acceptance.mails()).toEqual([]);
    expect(await statusOf(id)).toEqual([{ status: 'sent' }]);
    expect(await listOperatorMails(test.database.pool)).toMatchObject([
      { mailbox: 'return_path', accountId: tenant.accountId, messageId: id },
    ]);
  });

  it('is mail to the operator, not to an inbox of another brand', async () => {
    const stranger = await createTestTenant(test.database, 'Neighbour');
    await allowInboxes(test.database, stranger.accountId);
    await insertVerifiedDomain(test.database, stranger, 'neighbour.example');
    await insertInbox(test.database, stranger, 'sales@neighbour.example');
    const id = await sent({ replyTo: 'sales@neighbour.example' });
    await deliver(listener.port, { to: returnPathOf(id), data: unknownForm });
    expect(await acceptance.mails()).toEqual([]);
    expect(await listOperatorMails(test.database.pool)).toHaveLength(1);
  });

  it('counts for the limits of its sender', async () => {
    const limited = await startTestListener(test.url, {
      inboxes: acceptance.inboxes,
      limits: { senderPerMinute: 1 },
    });
    const to = returnPathOf(await sent({ replyTo: 'support@acme.example' }));
    const replies: string[] = [];
    for (let n = 0; n < 2; n += 1) replies.push(await deliver(limited.port, { to, data: unknownForm }));
    await limited.stop();
    expect(replies).toEqual(['250 2.0.0', '451 4.7.1']);
  });
});

describe('a reply without an inbox', () => {
  it('of a person is mail to the operator', async () => {
    const id = await sent();
    await deliver(listener.port, { to: returnPathOf(id), from: 'ann@example.com', data: person });
    expect(await listOperatorMails(test.database.pool)).toMatchObject([
      { mailbox: 'return_path', sender: 'Ann <ann@example.com>' },
    ]);
  });

  it.each([
    vacation,
    autoReply('X-Autoreply: yes\n'),
    autoReply('Auto-Submitted: auto-generated\nX-Auto-Response-Suppress: All\n'),
    autoReply('X-Apple-Action: VACATION\n'),
  ])('that is automatic is only logged', async (data) => {
    await deliver(listener.port, { to: returnPathOf(await sent()), data });
    expect(await listOperatorMails(test.database.pool)).toEqual([]);
  });
});
