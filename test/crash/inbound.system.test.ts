// Each accepted mail becomes one conversation message and one event, whatever is killed while thousands arrive.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connectSmtp } from '../../src/delivery/wire/smtp/client.ts';
import type { SmtpConnection, SmtpOutcome } from '../../src/delivery/wire/smtp/contract.ts';
import { fractionOf } from '../support/crash/send-and-kill.ts';
import { scale } from '../support/crash/scale.ts';
import { accountOf, type CrashStage, openCrashStage } from '../support/crash/stage.ts';
import { startDnsServer, type TestDnsServer } from '../support/dns/server.ts';
import { insertVerifiedDomain } from '../support/domains.ts';
import { eventually } from '../support/eventually.ts';
import { allowInboxes, insertInbox } from '../support/inboxes.ts';

const { mails: count, kills } = scale.inbound;
const INBOX = 'support@in.crash.test';
const CONNECTIONS = 16;
/** How long a server waits after a refusal. Real ones wait for minutes. */
const RETRY_MS = 200;

let dns: TestDnsServer;
let stage: CrashStage;
beforeAll(async () => {
  dns = await startDnsServer({ 'sender.test': { TXT: ['v=spf1 ip4:127.0.0.1 -all'] } });
  stage = await openCrashStage({
    mail: true,
    settings: { DNS_SERVERS: dns.address, INBOX_SENDER_PER_MINUTE: '0', INBOX_NETWORK_PER_MINUTE: '0' },
  });
  const owner = await accountOf(stage);
  await allowInboxes(stage.database, owner.accountId);
  await insertVerifiedDomain(stage.database, owner, 'in.crash.test', { keyring: null });
  await insertInbox(stage.database, owner, INBOX);
  await stage.subscribe('/received', 'email.received');
}, 180_000);
afterAll(async () => {
  await stage.close();
  dns.close();
}, 60_000);

function mailOf(n: number): Buffer {
  const lines = [
    `From: Person ${n} <person${n}@sender.test>`,
    `To: <${INBOX}>`,
    `Subject: Question ${n}`,
    'Date: Wed, 25 Nov 2026 10:00:00 +0000',
    `Message-ID: <question-${n}@sender.test>`,
    'Content-Type: multipart/mixed; boundary="part"',
    '',
    '--part',
    'Content-Type: text/plain',
    '',
    `This is question ${n}.`,
    '--part',
    'Content-Type: text/plain; name="list.txt"',
    'Content-Disposition: attachment; filename="list.txt"',
    '',
    `Item ${n}`,
    '--part--',
    '',
  ];
  return Buffer.from(lines.join('\r\n'));
}

async function connect(): Promise<SmtpConnection | null> {
  const { port } = stage.mail as NonNullable<CrashStage['mail']>;
  const target = { host: '127.0.0.1', port, security: 'none', clientName: 'mx.sender.test' } as const;
  return connectSmtp(target).catch(() => null);
}

/** @returns true once the server has accepted the mail, so that it may forget it */
async function trySending(connection: SmtpConnection, n: number): Promise<boolean> {
  const outcome: SmtpOutcome = await connection.send({
    from: `person${n}@sender.test`,
    to: INBOX,
    smtpUtf8: false,
    eightBit: false,
    data: mailOf(n),
  });
  if (outcome.kind === 'accepted') return true;
  // Only after a 5xx would a server stop trying.
  if (outcome.kind === 'refused') expect(outcome.reply.code).toBeLessThan(500);
  return false;
}

/** Sends mails as servers do: each is repeated until it is accepted, even if only the reply was lost. */
async function sendAll(queue: number[]): Promise<void> {
  let connection: SmtpConnection | null = null;
  for (let n = queue.pop(); n !== undefined; n = queue.pop()) {
    connection ??= await connect();
    if (connection && (await trySending(connection, n))) continue;
    queue.unshift(n);
    connection?.destroy();
    connection = null;
    await delay(RETRY_MS);
  }
  await connection?.quit();
}

async function killAtRandom(sending: { done: boolean }): Promise<number> {
  const victims = [
    stage.mail?.role ?? stage.worker,
    stage.postgres,
    stage.mail?.role ?? stage.worker,
    stage.worker,
  ];
  let killed = 0;
  for (; killed < kills && !sending.done; killed += 1) {
    await delay(300 + fractionOf(1, `moment-${killed}`) * 1_200);
    const victim = victims[killed % victims.length] as (typeof victims)[number];
    await victim.kill();
    await victim.start();
  }
  return killed;
}

interface Arrived {
  waiting: number;
  messages: number;
  distinct: number;
  attachments: number;
  conversations: number;
  events: number;
}

async function readArrived(): Promise<Arrived> {
  const { rows } = await stage.database.pool.query<Arrived>(
    `select (select count(*) from inbound_mails)::int as waiting,
       count(*) filter (where arrived_at is not null)::int as messages, count(distinct internet_id)::int as distinct,
       (select count(*) from conversation_attachments)::int as attachments,
       (select count(*) from conversations)::int as conversations,
       (select count(*) from webhook_deliveries where type = 'email.received')::int as events
     from conversation_messages`,
  );
  return rows[0] as Arrived;
}

function reportedMessages(): number[] {
  const own = stage.receiver.requests.filter(({ url }) => url === '/received');
  return own.map(({ body }) => {
    const { data } = JSON.parse(body) as { data: { conversation_message_id: number } };
    return data.conversation_message_id;
  });
}

it('makes each accepted mail one message and one event, whenever mail, worker and database are killed', async () => {
  const queue = Array.from({ length: count }, (_, n) => n);
  const sending = { done: false };
  const sent = Promise.all(Array.from({ length: CONNECTIONS }, () => sendAll(queue))).finally(() => {
    sending.done = true;
  });
  const killed = await killAtRandom(sending);
  await sent;
  expect(killed).toBeGreaterThan(0);
  await eventually(
    async () =>
      expect(await readArrived()).toEqual({
        waiting: 0,
        messages: count,
        distinct: count,
        attachments: count,
        conversations: count,
        events: count,
      }),
    300_000,
    500,
  );
  await eventually(() => expect(new Set(reportedMessages()).size).toBe(count), 120_000, 500);
  stage.requireNoDeaths();
}, 600_000);
