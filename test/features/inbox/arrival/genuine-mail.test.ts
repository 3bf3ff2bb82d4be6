// Genuine mail arrives beside attacks: whatever differs from an earlier mail is shown, and anything else is counted.
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import type { MailListener } from '../../../../src/delivery/wire/inbound/listener.ts';
import { type InboundLoop, startInboundLoop } from '../../../../src/features/inbox/arrival/loop.ts';
import type { MailReader } from '../../../../src/features/inbox/mail/mail.ts';
import { createMailReader } from '../../../../src/features/inbox/mail/reader.ts';
import { createWaker, type Waker } from '../../../../src/platform/db/wake.ts';
import { createHomeStore } from '../../../../src/platform/storage/local-disk.ts';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../../../support/dns/server.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import { eventually } from '../../../support/eventually.ts';
import { startTestListener } from '../../../support/inbound.ts';
import { startDialogue } from '../../../support/smtp-dialogue.ts';
import { arrivalDeps } from '../../../support/inbox-mails.ts';
import { allowInboxes, insertInbox } from '../../../support/inboxes.ts';
import { startTestAcceptance, type TestAcceptance } from '../../../support/receiving.ts';

const GENUINE = '192.0.2.1';
const ATTACKER = '198.51.100.7';
const TOKEN = 'a-token';

const MAX_OF_SENDER = 5;
const MAX_CONNECTIONS = 6;

const home = mkdtempSync(join(tmpdir(), 'carillon-home-'));
let api: TestApi;
let dns: TestDnsServer;
let waker: Waker;
let reader: MailReader;
let loop: InboundLoop;
let acceptance: TestAcceptance;
let listener: MailListener;
let inbox: string;
let inboxId: number;
let count = 0;

beforeAll(async () => {
  api = await startTestApi({ env: { CARILLON_HOME: home } });
  const { config, database } = api;
  const url = config.DATABASE_URL ?? '';
  await allowInboxes(database, api.accountId);
  await insertVerifiedDomain(database, api, 'acme.example');
  await database.pool.query('insert into inbound_tokens (account_id, digest) values ($1, $2)', [
    api.accountId,
    createHash('sha256').update(TOKEN).digest(),
  ]);
  dns = await startDnsServer({ 'example.net': { TXT: [`v=spf1 ip4:${GENUINE} -all`] } });
  const log = pino({ level: 'silent' });
  const store = createHomeStore(home);
  reader = createMailReader({ home, log, dnsServers: [dns.address] });
  waker = createWaker({ url });
  const { keyring, plusAddresses, events, consumers } = arrivalDeps();
  loop = startInboundLoop({
    keyring,
    plusAddresses,
    events,
    consumers,
    hasScanner: false,
    quotaBytes: 1024 ** 3,
    pool: database.pool,
    waker,
    reader,
    store,
    log,
  });
  acceptance = startTestAcceptance(url, database, { store });
  listener = await startTestListener(url, {
    inboxes: acceptance.inboxes,
    trustedProxies: ['127.0.0.0/8'],
    limits: { senderPerMinute: MAX_OF_SENDER, connections: MAX_CONNECTIONS },
  });
});
beforeEach(async () => {
  count += 1;
  inbox = `support${count}@acme.example`;
  inboxId = await insertInbox(api.database, api, inbox);
});
afterAll(async () => {
  await listener.stop();
  await acceptance.stop();
  await loop.stop();
  await reader.close();
  await waker.close();
  dns.close();
  await api.close();
  rmSync(home, { recursive: true, force: true });
});

/** Connects like a proxy does for its client. */
const connectFrom = (ip: string) => startDialogue(listener.port, `PROXY TCP4 ${ip} 192.0.2.200 4000 25\r\n`);

/** Mails are read in any order, so each is read before the next is sent. */
const untilRead = () => eventually(async () => expect(await acceptance.mails()).toEqual([]));

/** Delivers a mail from `ann@example.net`, and waits until it is read. */
async function send(mail: string, ip = GENUINE): Promise<void> {
  const { say, socket } = await connectFrom(ip);
  const lines = ['EHLO mx.example.net', 'MAIL FROM:<ann@example.net>', `RCPT TO:<${inbox}>`, 'DATA'];
  for (const line of lines) await say(line);
  expect(await say(`${mail}.`)).toMatch(/^250 /);
  socket.destroy();
  await untilRead();
}

/** Posts a mail from `ann@example.net`, and waits until it is read. */
async function post(mail: string, ip = GENUINE): Promise<void> {
  const query = `from=ann@example.net&to=${inbox}&ip=${ip}&helo=mx.example.net`;
  const response = await fetch(`${api.baseUrl}/inbound/${TOKEN}?${query}`, { method: 'POST', body: mail });
  expect(response.status).toBe(200);
  await untilRead();
}

interface Shown {
  subject: string;
  aligned: boolean;
  repeated: number;
}

/** The messages of the inbox, oldest first. */
async function shown(): Promise<Shown[]> {
  const conversations = await api.request('GET', `/v1/my/conversations?inbox_id=${inboxId}`);
  const found = await Promise.all(
    (conversations.body as unknown as { id: number }[]).map(({ id }) =>
      api.request('GET', `/v1/my/conversations/${id}/messages`),
    ),
  );
  type Message = {
    id: number;
    subject: string;
    authentication: { aligned: boolean };
    repeated_count: number;
  };
  return (found.flatMap(({ body }) => body) as unknown as Message[])
    .sort((one, other) => one.id - other.id)
    .map(({ subject, authentication: { aligned }, repeated_count: repeated }) => ({
      subject,
      aligned,
      repeated,
    }));
}

const senders = [
  ['authenticated', GENUINE, true],
  ['not authenticated', '203.0.113.9', false],
] as const;
const fields = 'From: Ann <ann@example.net>\r\nDate: Fri, 27 Nov 2026 10:00:00 +0000\r\n';

// What is decided about repeated mail holds on each way.
describe.each([
  ['SMTP', send],
  ['HTTP', post],
])('by %s', (_way, deliver) => {
  it.each([
    ['one Message-ID', 'Message-ID: <alarm@device>\r\n'],
    ['no Message-ID', ''],
  ])('shows each of the alarms of a device that has %s', async (_what, id) => {
    for (const subject of ['Door', 'Fire', 'Fire'])
      await deliver(`${fields}${id}Subject: ${subject}\r\n\r\nAlarm\r\n`);
    expect(await shown()).toEqual([
      { subject: 'Door', aligned: true, repeated: 0 },
      { subject: 'Fire', aligned: true, repeated: 1 },
    ]);
  });

  it('shows equal mails that nothing dates', async () => {
    for (let n = 0; n < 2; n += 1) await deliver('From: ann@example.net\r\nSubject: Door\r\n\r\nAlarm\r\n');
    expect(await shown()).toHaveLength(2);
  });

  it('shows the true mail although copies with other addresses and without authentication arrive first', async () => {
    const mail = (more = '') =>
      `${fields}Message-ID: <1@example.net>\r\nSubject: Order\r\n${more}\r\nPlease send it.\r\n`;
    await deliver(mail('Reply-To: eve@example.org\r\n').replace('Order', 'Urgent'), ATTACKER);
    await deliver(mail(), ATTACKER);
    await deliver(mail());
    await deliver(mail(), ATTACKER);
    expect(await shown()).toEqual([
      { subject: 'Urgent', aligned: false, repeated: 0 },
      { subject: 'Order', aligned: false, repeated: 1 },
      { subject: 'Order', aligned: true, repeated: 0 },
    ]);
  });

  it('shows a mail without authentication although a copy with another subject arrives first', async () => {
    const mail = (subject: string) =>
      `${fields}Message-ID: <2@example.net>\r\nSubject: ${subject}\r\n\r\nHello\r\n`;
    await deliver(mail('Buy'), ATTACKER);
    await deliver(mail('Hello'), '203.0.113.9');
    expect((await shown()).map(({ subject }) => subject)).toEqual(['Buy', 'Hello']);
  });
});

it('counts a mail that arrives by SMTP and over HTTP, through different servers', async () => {
  const mail = `${fields}Message-ID: <3@example.net>\r\nSubject: Hello\r\n\r\nHello\r\n`;
  await send(`Received: from a\r\n${mail}`);
  await post(`Received: from b\r\n${mail}`);
  expect(await shown()).toEqual([{ subject: 'Hello', aligned: true, repeated: 1 }]);
});

it.each(senders)(
  'shows mail that is %s while a stranger names its sender too often',
  async (_what, ip, aligned) => {
    const { say, socket } = await connectFrom(ATTACKER);
    await say('EHLO mx.example.org');
    for (let n = 0; n < 3 * MAX_OF_SENDER; n += 1) {
      await say('MAIL FROM:<ann@example.net>');
      const reply = await say(`RCPT TO:<${inbox}>`);
      expect(reply.slice(0, 3)).toBe(n < 2 * MAX_OF_SENDER ? '250' : '451');
      // At first, only recipients; then mails until the limit.
      const sends = n >= MAX_OF_SENDER && reply.startsWith('250');
      if (sends) await say('DATA');
      await say(sends ? `Subject: ${n}\r\n\r\nx\r\n.` : 'RSET');
    }
    socket.destroy();
    await untilRead();
    await send(`${fields}Message-ID: <4@example.net>\r\nSubject: Hello\r\n\r\nHello\r\n`, ip);
    expect((await shown()).at(-1)).toEqual({ subject: 'Hello', aligned, repeated: 0 });
  },
);

it.each(senders)('shows mail that is %s while strangers keep all connections', async (_what, ip, aligned) => {
  const idle = await Promise.all(
    Array.from({ length: MAX_CONNECTIONS }, (_each, n) => connectFrom(`198.51.100.${n}`)),
  );
  const talking = setInterval(() => idle.forEach(({ socket }) => socket.write('NOOP\r\n')), 10);
  try {
    await send(`${fields}Message-ID: <5@example.net>\r\nSubject: Hello\r\n\r\nHello\r\n`, ip);
  } finally {
    clearInterval(talking);
    for (const { socket } of idle) socket.destroy();
  }
  expect(await shown()).toEqual([{ subject: 'Hello', aligned, repeated: 0 }]);
});
