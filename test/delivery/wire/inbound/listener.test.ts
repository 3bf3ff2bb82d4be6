// Bounces and complaints by mail take effect once, and only with a genuine reference to their message.
import { readFileSync } from 'node:fs';
import net from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ListenerLimits, MailListener } from '../../../../src/delivery/wire/inbound/listener.ts';
import { listOperatorMails, readOperatorMail } from '../../../../src/delivery/wire/inbound/operator-mails.ts';
import { createTestTenant, type TestTenant } from '../../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { deliver, startTestListener } from '../../../support/inbound.ts';
import { startDialogue } from '../../../support/smtp-dialogue.ts';
import { queueEmails, statusCounts } from '../../../support/queued.ts';
import {
  attachedComplaint,
  autoReply,
  deliveryStatus,
  feedbackReport,
  qmailBounce,
  type ReportedMail,
} from '../../../support/reports.ts';
import {
  receivedAtLeast,
  startSmtpServer,
  startTestSender,
  type TestSender,
  type TestSmtpServer,
} from '../../../support/sending.ts';
import { startTcpGate } from '../../../support/tcp-gate.ts';
import { addWebhook } from '../../../support/webhooks.ts';

let test: TestDatabase;
let relay: TestSmtpServer;
let sender: TestSender;
let tenant: TestTenant;
let listener: MailListener;

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 4 });
  relay = await startSmtpServer();
  sender = await startTestSender({ url: test.url, port: relay.port });
  listener = await startTestListener(test.url);
});
beforeEach(async () => {
  tenant = await createTestTenant(test.database, 'Acme');
});
afterAll(async () => {
  await listener.stop();
  await sender.stop();
  await relay.stop();
  await test.drop();
});

/** @param text with the account as `$1` */
const query = <Row extends object>(text: string) =>
  test.database.pool.query<Row>(text, [tenant.accountId]).then((result) => result.rows);
const counts = () => statusCounts(test.database, tenant.accountId);
const untilCounts = (expected: Record<string, number>) =>
  eventually(async () => expect(await counts()).toEqual(expected));

/** Sends an email to ann@…, and returns what the recipient's server knows about it. */
async function sendOne(prefix = 'ann'): Promise<ReportedMail> {
  const before = relay.received.length;
  await queueEmails(test.database, tenant, 1, { prefix });
  await receivedAtLeast(relay, before + 1);
  const { from, to, raw } = relay.received[before] ?? { from: '', to: '', raw: '' };
  return { returnPath: from, to, messageId: /^Message-ID: <(.+)>/m.exec(raw)?.[1] ?? '' };
}

const report = (mail: ReportedMail, data: string) => deliver(listener.port, { to: mail.returnPath, data });

describe('a bounce sent to the return path', () => {
  it('marks the message as bounced, publishes the event, and suppresses the address for the next message', async () => {
    await addWebhook(test.database, tenant, 'https://hooks.example.test', ['email.bounced']);
    const mail = await sendOne();
    await untilCounts({ sent: 1 });
    expect(await report(mail, deliveryStatus(mail))).toBe('250 2.0.0');
    await untilCounts({ bounced: 1 });
    const bounce = { type: 'hard', subtype: 'no_such_mailbox', diagnostic: '550 5.1.1 User unknown' };
    expect(await query('select bounce from messages where account_id = $1')).toEqual([{ bounce }]);
    expect(await query(`select type, data -> 'bounce' as bounce from events where account_id = $1`)).toEqual([
      { type: 'email.bounced', bounce },
    ]);
    expect(await query('select address_key, reason from suppressions where account_id = $1')).toEqual([
      { address_key: 'ann0@example.com', reason: 'hard_bounce' },
    ]);
    await queueEmails(test.database, tenant, 1, { prefix: 'ann' });
    await untilCounts({ bounced: 1, failed: 1 });
    expect(
      await query(
        `select failure ->> 'code' as code from messages where account_id = $1 and status = 'failed'`,
      ),
    ).toEqual([{ code: 'suppressed' }]);
    expect(relay.received.filter(({ to }) => to === mail.to)).toHaveLength(1);
  });

  it('counts once, however often and in whatever form it is sent', async () => {
    await addWebhook(test.database, tenant, 'https://hooks.example.test', ['email.bounced']);
    const mail = await sendOne();
    const reports = [
      deliveryStatus(mail),
      deliveryStatus(mail),
      qmailBounce(mail, 'Sorry, no mailbox here by that name. (#5.1.1)'),
    ];
    const replies = await Promise.all(reports.map((data) => report(mail, data)));
    expect(replies).toEqual(['250 2.0.0', '250 2.0.0', '250 2.0.0']);
    expect(await query('select count(*) from events where account_id = $1')).toEqual([{ count: 1 }]);
    expect(await query('select count(*) from suppressions where account_id = $1')).toEqual([{ count: 1 }]);
  });

  it('does not suppress the address if the mailbox is full or the message was refused as spam', async () => {
    const [full, spam] = [await sendOne('full'), await sendOne('spam')];
    await report(full, deliveryStatus(full, { status: '5.2.2', diagnostic: 'smtp; 552 5.2.2 mailbox full' }));
    await report(spam, deliveryStatus(spam, { status: '5.7.1', diagnostic: 'smtp; 550 5.7.1 spam' }));
    await untilCounts({ bounced: 2 });
    expect(
      await query(
        `select bounce ->> 'type' as type, bounce ->> 'subtype' as subtype from messages where account_id = $1 order by id`,
      ),
    ).toEqual([
      { type: 'soft', subtype: 'mailbox_full' },
      { type: 'soft', subtype: 'blocked' },
    ]);
    expect(await query('select 1 from suppressions where account_id = $1')).toEqual([]);
  });

  it.each(['postmaster', 'abuse', 'fbl'])(
    'changes nothing at %s@, whatever reference it contains',
    async (name) => {
      const mail = await sendOne();
      await untilCounts({ sent: 1 });
      const perMessage = `Original-Envelope-Id: ${mail.messageId.split('@')[0]}\n`;
      for (const data of [
        deliveryStatus(mail, { perMessage }),
        deliveryStatus(mail, { perMessage, action: 'delivered', status: '2.0.0' }),
        qmailBounce(mail, 'Sorry, no mailbox here by that name. (#5.1.1)'),
      ])
        expect(await deliver(listener.port, { to: `${name}@mail.test`, data })).toBe('250 2.0.0');
      expect(await counts()).toEqual({ sent: 1 });
      expect(await query('select 1 from suppressions where account_id = $1')).toEqual([]);
    },
  );

  it('changes nothing if it reports a delay, or is an automatic reply', async () => {
    const mail = await sendOne();
    await untilCounts({ sent: 1 });
    expect(await report(mail, deliveryStatus(mail, { action: 'delayed', status: '4.4.1' }))).toBe(
      '250 2.0.0',
    );
    expect(await report(mail, autoReply('Auto-Submitted: auto-replied\n'))).toBe('250 2.0.0');
    await untilCounts({ sent: 1 });
  });
});

describe('a success report', () => {
  it('marks the message as delivered', async () => {
    const mail = await sendOne();
    await untilCounts({ sent: 1 });
    const fields = { action: 'delivered', status: '2.0.0', diagnostic: 'smtp; 250 Ok' };
    expect(await report(mail, deliveryStatus(mail, fields))).toBe('250 2.0.0');
    await untilCounts({ delivered: 1 });
  });
});

describe('a complaint', () => {
  it.each([
    ['a feedback report', 'fbl@mail.test', feedbackReport],
    ['a feedback report to abuse', 'abuse@mail.test', feedbackReport],
    ['an attached message', 'fbl@mail.test', attachedComplaint],
  ])('in %s is found by the Message-ID and suppresses the address', async (_form, to, write) => {
    const mail = await sendOne();
    expect(await deliver(listener.port, { to, from: 'feedback@example.net', data: write(mail) })).toBe(
      '250 2.0.0',
    );
    await untilCounts({ complained: 1 });
    expect(await query('select reason from suppressions where account_id = $1')).toEqual([
      { reason: 'complaint' },
    ]);
  });

  const counted = async () =>
    (await query('select sum(complaints)::int as complaints from account_outcomes where account_id = $1'))[0];
  const naming = (mail: ReportedMail, recipient: string) =>
    feedbackReport(mail).replace('redacted@yahoo.com', `<${recipient}>`);

  it('is not counted against the account if it is found by the Message-ID', async () => {
    const mail = await sendOne();
    await deliver(listener.port, { to: 'fbl@mail.test', data: naming(mail, mail.to) });
    await untilCounts({ complained: 1 });
    expect(await counted()).toEqual({ complaints: 0 });
  });

  it('changes nothing at postmaster@', async () => {
    const mail = await sendOne();
    await untilCounts({ sent: 1 });
    await deliver(listener.port, { to: 'postmaster@mail.test', data: feedbackReport(mail) });
    expect(await counts()).toEqual({ sent: 1 });
  });

  it('at the return path is counted only if it names the recipient of the message', async () => {
    const [one, other] = [await sendOne('one'), await sendOne('other')];
    await report(one, naming(one, 'redacted@example.com'));
    await untilCounts({ complained: 1, sent: 1 });
    expect(await counted()).toEqual({ complaints: 0 });
    await report(other, naming(other, other.to.toUpperCase()));
    await untilCounts({ complained: 2 });
    expect(await counted()).toEqual({ complaints: 1 });
  });

  it('is ignored without a genuine reference', async () => {
    const mail = await sendOne();
    await untilCounts({ sent: 1 });
    const forged = {
      ...mail,
      messageId: mail.messageId.replace(/-.{22}@/, `-${'A'.repeat(22)}@`),
      returnPath: mail.returnPath.replace(/-.{26}@/, `-${'a'.repeat(26)}@`),
    };
    expect(await deliver(listener.port, { to: 'fbl@mail.test', data: feedbackReport(forged) })).toBe(
      '250 2.0.0',
    );
    await untilCounts({ sent: 1 });
    expect(await query('select 1 from suppressions where account_id = $1')).toEqual([]);
  });
});

describe('the listener', () => {
  it('refuses every address that is not its own, before the message', async () => {
    const mail = await sendOne();
    const forged = mail.returnPath.replace(/.@/, (end) => (end.startsWith('a') ? 'e@' : 'a@'));
    const to = [forged, 'ann@example.com', 'ann@mail.test', 'fbl@example.com', 'b-1-1-x@mail.test', 'fbl'];
    for (const address of to) {
      expect([address, await deliver(listener.port, { to: address, data: 'x' })]).toEqual([
        address,
        expect.stringMatching(/^5/),
      ]);
    }
    for (const address of [
      mail.returnPath.toUpperCase(),
      'Postmaster@MAIL.TEST',
      'postmaster',
      'abuse@mail.test',
    ])
      expect(await deliver(listener.port, { to: address, data: 'x' })).toBe('250 2.0.0');
  });

  it('keeps what people write to the operator, and nothing else', async () => {
    const mail = await sendOne();
    const before = (await listOperatorMails(test.database.pool)).length;
    const data = 'From: Ann <ann@example.net>\r\nSubject: Spam from you\r\n\r\nPlease stop.\r\n';
    await deliver(listener.port, { to: 'abuse@mail.test', from: 'ann@example.net', data });
    await deliver(listener.port, { to: 'abuse@mail.test', data: feedbackReport(mail, 'not-spam') });
    const kept = await listOperatorMails(test.database.pool);
    expect(kept).toHaveLength(before + 1);
    expect(kept[0]).toMatchObject({
      mailbox: 'abuse',
      sender: 'Ann <ann@example.net>',
      subject: 'Spam from you',
    });
    expect(String(await readOperatorMail(test.database.pool, kept[0]?.id ?? 0))).toBe(data);
  });

  it('asks to retry while the database is unavailable, and then accepts the report', async () => {
    const mail = await sendOne();
    await untilCounts({ sent: 1 });
    const url = new URL(test.url);
    const gate = await startTcpGate({ host: url.hostname, port: Number(url.port) });
    const behind = new URL(test.url);
    behind.hostname = '127.0.0.1';
    behind.port = String(gate.port);
    const gated = await startTestListener(behind.href);
    gate.shut();
    const bounce = { to: mail.returnPath, data: deliveryStatus(mail) };
    expect(await deliver(gated.port, bounce)).toBe('451 4.3.0');
    expect(await counts()).toEqual({ sent: 1 });
    gate.open();
    await eventually(async () => expect(await deliver(gated.port, bounce)).toBe('250 2.0.0'));
    // No waiting is needed: the reply means that the report is committed.
    expect(await counts()).toEqual({ bounced: 1 });
    await gated.stop();
    await gate.close();
  });

  it('records the reports of others if one of a group fails', async () => {
    const [one, other] = [await sendOne('refused'), await sendOne('other')];
    await test.database.pool.query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$`,
    );
    await test.database.pool.query(
      `create trigger refuse before update on messages for each row
       when (new.status = 'bounced' and new.to_key like 'refused%') execute function refuse()`,
    );
    const replies = await Promise.all([one, other].map((mail) => report(mail, deliveryStatus(mail))));
    expect(replies).toEqual(['451 4.3.0', '250 2.0.0']);
  });

  async function limited(limits: Partial<ListenerLimits>, run: (port: number) => Promise<void>) {
    const other = await startTestListener(test.url, { limits });
    try {
      await run(other.port);
    } finally {
      await other.stop();
    }
  }

  it('refuses a message that is too large', () =>
    limited({ bytes: 10_000 }, async (port) => {
      const data = 'x'.repeat(20_000);
      expect(await deliver(port, { to: 'postmaster@mail.test', data })).not.toMatch(/^250/);
    }));

  it('refuses a message that arrives in tiny pieces, and accepts it in larger ones', async () => {
    const to = 'postmaster@mail.test';
    // The server receives a piece from each doubled dot to the next.
    const pieces = '.\r\n'.repeat(3_000);
    expect(await deliver(listener.port, { to, data: `Subject: x\r\n\r\n${pieces}` })).toBe('421 4.7.0');
    const whole = 'x\r\n'.repeat(3_000);
    expect(await deliver(listener.port, { to, data: `Subject: x\r\n\r\n${whole}` })).toBe('250 2.0.0');
  });

  /** A client of an address of this machine, which has read the greeting. */
  async function connectFrom(port: number, localAddress = '127.0.0.1') {
    const socket = net.connect({ port, host: '127.0.0.1', localAddress });
    const client = { socket, seen: '' };
    socket.on('data', (data: Buffer) => (client.seen += data.toString()));
    socket.on('error', () => undefined);
    await eventually(() => expect(client.seen).toMatch(/^\d{3} .*\r\n/));
    return client;
  }
  const expectClosed = (client: Awaited<ReturnType<typeof connectFrom>>) =>
    eventually(() => {
      expect(client.seen).toMatch(/^421 4\.3\.2 .*\r\n$/m);
      expect(client.socket.readyState).not.toBe('open');
    });

  it('lets a new connection of a network take the place of its oldest', () =>
    limited({ connectionsPerNetwork: 2 }, async (port) => {
      const [first, second, third] = [
        await connectFrom(port),
        await connectFrom(port),
        await connectFrom(port),
      ];
      await expectClosed(first);
      expect([second, third].map(({ seen }) => seen.slice(0, 3))).toEqual(['220', '220']);
      for (const { socket } of [second, third]) socket.destroy();
    }));

  it('counts IPv4 clients of a dual-stack socket by their own addresses', async () => {
    const other = await startTestListener(test.url, { host: '::', limits: { connectionsPerNetwork: 1 } });
    const first = await connectFrom(other.port, '127.0.0.1');
    const stranger = await connectFrom(other.port, '127.0.0.2');
    const second = await connectFrom(other.port, '127.0.0.1');
    await expectClosed(first);
    expect([stranger, second].map(({ seen }) => seen.slice(0, 3))).toEqual(['220', '220']);
    for (const { socket } of [stranger, second]) socket.destroy();
    await other.stop();
  });

  const tlsFile = (name: string) =>
    readFileSync(new URL(`../../../support/smtp/tls/${name}`, import.meta.url), 'utf8');
  const certificate = { key: tlsFile('server.key'), cert: tlsFile('server.pem') };
  const mail = { to: 'postmaster@mail.test', data: 'x' };
  const byStarttls = {
    security: 'starttls',
    tls: { ca: tlsFile('ca.pem'), servername: 'localhost' },
  } as const;

  describe.each([
    ['without encryption', {}],
    ['over STARTTLS', byStarttls],
  ])('%s', (_how, target) => {
    const start = (limits: Partial<ListenerLimits>) =>
      startTestListener(test.url, { tls: certificate, limits });

    it('takes mail although idle clients have all connections, whatever they say', async () => {
      const { port, stop } = await start({ connections: 4 });
      const idle = await Promise.all(
        [2, 3, 4, 5].map(async (n) => {
          const client = await connectFrom(port, `127.0.0.${n}`);
          client.socket.write('EHLO x\r\n');
          await eventually(() => expect(client.seen).toMatch(/^250 /m));
          if ('security' in target) client.socket.write('STARTTLS\r\n');
          return client;
        }),
      );
      const talking = setInterval(() => idle.forEach(({ socket }) => socket.write('NOOP\r\n')), 10);
      try {
        for (let n = 0; n < 6; n += 1) expect(await deliver(port, mail, target)).toBe('250 2.0.0');
      } finally {
        clearInterval(talking);
        for (const { socket } of idle) socket.destroy();
        await stop();
      }
    });

    it('has room again for each connection that has ended', async () => {
      const { port, stop } = await start({ connectionsPerNetwork: 1 });
      for (let n = 0; n < 3; n += 1) expect(await deliver(port, mail, target)).toBe('250 2.0.0');
      await stop();
    });
  });

  it('closes no connection that is sending a message, and then the one whose message is the longest ago', () =>
    limited({ connections: 2 }, async (port) => {
      const [busy, idle] = [await startDialogue(port), await connectFrom(port)];
      for (const line of ['EHLO x', 'MAIL FROM:<>', 'RCPT TO:<postmaster@mail.test>', 'DATA'])
        await busy.say(line);
      const next = await connectFrom(port);
      await expectClosed(idle);
      expect(await busy.say('Subject: x\r\n\r\nx\r\n.')).toMatch(/^250 /);
      const last = await connectFrom(port);
      await expectClosed(next);
      expect(await busy.say('NOOP')).toMatch(/^250 /);
      for (const { socket } of [busy, last]) socket.destroy();
    }));

  it('refuses a connection while all others are sending messages', () =>
    limited({ connections: 1 }, async (port) => {
      const busy = await startDialogue(port);
      for (const line of ['EHLO x', 'MAIL FROM:<>', 'RCPT TO:<postmaster@mail.test>', 'DATA'])
        await busy.say(line);
      const refused = await connectFrom(port);
      expect(refused.seen).toMatch(/^421 mail\.test 4\.3\.2 /);
      expect(await busy.say('Subject: x\r\n\r\nx\r\n.')).toMatch(/^250 /);
      busy.socket.destroy();
    }));

  async function talkUntilClosed(socket: net.Socket): Promise<void> {
    const talking = setInterval(() => socket.write('NOOP\r\n'), 20);
    socket.on('error', () => undefined);
    // A reset ends the connection, too, so an error must not fail this.
    await new Promise((done) => socket.once('close', done));
    clearInterval(talking);
  }

  it('ends a connection that does not reach DATA in time, even if the client keeps sending commands', () =>
    limited({ untilDataMs: 300 }, async (port) => talkUntilClosed((await connectFrom(port)).socket)));

  it('ends a connection after its lifetime, even if the client keeps sending commands', () =>
    limited({ lifetimeMs: 300 }, async (port) => talkUntilClosed((await connectFrom(port)).socket)));

  it('offers STARTTLS if and only if it has a certificate', async () => {
    const secure = await startTestListener(test.url, { tls: certificate });
    expect(await deliver(secure.port, mail, byStarttls)).toBe('250 2.0.0');
    expect(await deliver(secure.port, mail)).toBe('250 2.0.0');
    await expect(deliver(listener.port, mail, byStarttls)).rejects.toThrow('does not offer STARTTLS');
    await secure.stop();
  });

  it('uses a new certificate from the next handshake on', async () => {
    const secure = await startTestListener(test.url, { tls: certificate });
    secure.useTls({ key: tlsFile('other-name.key'), cert: tlsFile('other-name.pem') });
    await expect(deliver(secure.port, mail, byStarttls)).rejects.toThrow(/does not match|altnames/);
    await secure.stop();
  });
});
