// A mail to inboxes is accepted once its message and a row for each inbox are committed; otherwise nothing is left of it.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MailListener, MailListenerOptions } from '../../../../src/delivery/wire/inbound/listener.ts';
import type { MailAcceptanceDeps } from '../../../../src/features/inbox/receive/accept.ts';
import { openDatabase } from '../../../../src/platform/db/database.ts';
import { createWaker } from '../../../../src/platform/db/wake.ts';
import { createTestTenant, type TestTenant } from '../../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import { eventually } from '../../../support/eventually.ts';
import { deliver, deliverToAll, startTestListener } from '../../../support/inbound.ts';
import { startDialogue } from '../../../support/smtp-dialogue.ts';
import { allowInboxes, insertInbox } from '../../../support/inboxes.ts';
import { startTestAcceptance, type TestAcceptance } from '../../../support/receiving.ts';
import { startTcpGate } from '../../../support/tcp-gate.ts';

const MIB = 1024 * 1024;
const text = 'From: Ann <ann@example.net>\r\nSubject: Hello\r\n\r\nHow are you?\r\n';

let test: TestDatabase;
let tenant: TestTenant;
let other: TestTenant;
let inboxId: number;
let acceptance: TestAcceptance;
let listener: MailListener;
const stops: (() => Promise<void>)[] = [];

/** Starts a listener with an acceptance of its own, until the end of the test. */
async function start(
  { url = test.url, ...changes }: Partial<MailAcceptanceDeps> & { url?: string } = {},
  options: Partial<MailListenerOptions> = {},
): Promise<{ acceptance: TestAcceptance; listener: MailListener }> {
  const started = startTestAcceptance(url, test.database, changes);
  const listening = await startTestListener(url, { inboxes: started.inboxes, ...options });
  stops.push(
    () => listening.stop(),
    () => started.stop(),
  );
  return { acceptance: started, listener: listening };
}

async function setUpTenant(name: string, domain: string): Promise<TestTenant> {
  const created = await createTestTenant(test.database, name);
  await allowInboxes(test.database, created.accountId);
  await insertVerifiedDomain(test.database, created, domain);
  return created;
}

beforeAll(async () => {
  test = await createTestDatabase();
  tenant = await setUpTenant('Acme', 'acme.example');
  other = await setUpTenant('Other', 'other.example');
});
beforeEach(async () => {
  await test.database.pool.query('delete from inboxes');
  await test.database.pool.query('delete from inbox_storage');
  inboxId = await insertInbox(test.database, tenant, 'support@acme.example');
  ({ acceptance, listener } = await start());
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});
afterAll(() => test.drop());

const mail = (changes: { to?: string; from?: string; data?: string | Buffer } = {}) => ({
  to: 'support@acme.example',
  from: 'ann@example.net',
  data: text,
  ...changes,
});
const read = async (key: string) => {
  const blob = await acceptance.store.open(key);
  return blob ? buffer(blob.stream) : null;
};
/** A message of that size, with lines of 76 characters. */
function large(bytes: number): Buffer {
  const line = `${'x'.repeat(76)}\r\n`;
  const head = 'From: ann@example.net\r\nSubject: large\r\n\r\n';
  return Buffer.from(`${head}${line.repeat(Math.ceil((bytes - head.length) / line.length))}`);
}

describe('an accepted mail', () => {
  it('is one row and one file, and wakes the loop that reads it', async () => {
    const waker = createWaker({ url: test.url });
    let woken = 0;
    waker.listen('inbound', () => (woken += 1));
    expect(await deliver(listener.port, mail({ to: 'Support+42@acme.example' }))).toBe('250 2.0.0');
    const [row, ...others] = await acceptance.mails();
    expect(others).toEqual([]);
    expect(row).toEqual({
      account_id: tenant.accountId,
      brand_id: tenant.brandId,
      inbox_id: inboxId,
      raw_key: expect.stringMatching(new RegExp(`^inbox/${tenant.accountId}/`)),
      size: text.length,
      envelope_from: 'ann@example.net',
      recipient: 'Support+42@acme.example',
      ip: '127.0.0.1',
      helo: 'mx.example.com',
      source: 'smtp',
      answers_message_id: null,
      report_claims: null,
    });
    expect(await acceptance.keys()).toEqual([row?.raw_key]);
    expect(String(await read(row?.raw_key ?? ''))).toBe(text);
    expect(await acceptance.bytesOf(tenant.accountId)).toBe(text.length);
    await eventually(() => expect(woken).toBeGreaterThan(0));
    await waker.close();
  });

  it('is stored as it arrived if it is larger than what is kept in memory', async () => {
    const data = large(MIB);
    expect(await deliver(listener.port, mail({ data }))).toBe('250 2.0.0');
    const [row] = await acceptance.mails();
    expect(row?.size).toBe(data.length);
    expect((await read(row?.raw_key ?? ''))?.equals(data)).toBe(true);
  });

  it.each([1_000, MIB])('may arrive over STARTTLS, at %i bytes', async (bytes) => {
    const file = (name: string) =>
      readFileSync(new URL(`../../../support/smtp/tls/${name}`, import.meta.url), 'utf8');
    const tls = { key: file('server.key'), cert: file('server.pem') };
    const secure = await start({}, { tls });
    const data = large(bytes);
    const target = { security: 'starttls', tls: { ca: file('ca.pem'), servername: 'localhost' } } as const;
    expect(await deliver(secure.listener.port, mail({ data }), target)).toBe('250 2.0.0');
    const [row, ...others] = await secure.acceptance.mails();
    expect(others).toEqual([]);
    expect(row).toMatchObject({ inbox_id: inboxId, recipient: 'support@acme.example', size: data.length });
    const blob = await secure.acceptance.store.open(row?.raw_key ?? '');
    expect(blob && (await buffer(blob.stream)).equals(data)).toBe(true);
  });

  it('has the null return path as an empty sender', async () => {
    await deliver(listener.port, mail({ from: '' }));
    expect(await acceptance.mails()).toMatchObject([{ envelope_from: '' }]);
  });

  it.each([1_000, MIB])('has a row and a file for each inbox, if it has %i bytes', async (bytes) => {
    const otherInbox = await insertInbox(test.database, other, 'sales@other.example');
    const data = large(bytes);
    const to = ['support@acme.example', 'support+1@acme.example', 'sales@other.example'];
    expect(await deliverToAll(listener.port, to, data)).toBe('250');
    const rows = await acceptance.mails();
    expect(rows.map(({ inbox_id }) => inbox_id)).toEqual([inboxId, otherInbox]);
    for (const row of rows) expect((await read(row.raw_key))?.equals(data)).toBe(true);
    expect(rows[1]?.raw_key).toContain(`inbox/${other.accountId}/`);
    expect(await acceptance.keys()).toHaveLength(2);
  });

  it.each([1_000, MIB])(
    'to several inboxes of an account is stored and counted once, at %i bytes',
    async (bytes) => {
      const second = await insertInbox(test.database, tenant, 'sales@acme.example');
      const otherInbox = await insertInbox(test.database, other, 'sales@other.example');
      const data = large(bytes);
      const to = ['support@acme.example', 'sales@acme.example', 'sales@other.example'];
      expect(await deliverToAll(listener.port, to, data)).toBe('250');
      const rows = await acceptance.mails();
      expect(rows.map((row) => row.inbox_id)).toEqual([inboxId, second, otherInbox]);
      expect(rows[1]?.raw_key).toBe(rows[0]?.raw_key);
      expect(rows[2]?.raw_key).toContain(`inbox/${other.accountId}/`);
      expect((await acceptance.keys()).sort()).toEqual([rows[0]?.raw_key, rows[2]?.raw_key].sort());
      expect([await acceptance.bytesOf(tenant.accountId), await acceptance.bytesOf(other.accountId)]).toEqual(
        [data.length, data.length],
      );
    },
  );

  it('is accepted again if it is sent again, because only its contents show that', async () => {
    await deliver(listener.port, mail());
    await deliver(listener.port, mail());
    expect(await acceptance.mails()).toHaveLength(2);
  });
});

describe('a mail that cannot be accepted', () => {
  const expectNothing = async (started: TestAcceptance) => {
    expect(await started.mails()).toEqual([]);
    expect(await started.keys()).toEqual([]);
    expect((await started.bytesOf(tenant.accountId)) ?? 0).toBe(0);
  };

  it('is refused before the message if the address has no inbox', async () => {
    expect(await deliver(listener.port, mail({ to: 'nobody@acme.example' }))).toBe('550 5.1.1');
    await expectNothing(acceptance);
  });

  it.each([1_000, MIB])('is refused if it is too large, and leaves nothing of %i bytes', async (bytes) => {
    const small = await start({}, { limits: { bytes: bytes / 2 } });
    expect(await deliver(small.listener.port, mail({ data: large(bytes) }))).toBe('unsupported');
    // This client does not ask for the maximum size.
    expect(await deliverToAll(small.listener.port, ['support@acme.example'], large(bytes))).toBe('552');
    await expectNothing(small.acceptance);
  });

  it('is asked for again while the database is unavailable', async () => {
    const url = new URL(test.url);
    const gate = await startTcpGate({ host: url.hostname, port: Number(url.port) });
    url.host = `127.0.0.1:${gate.port}`;
    const gated = await start({ url: url.href });
    gate.shut();
    expect(await deliver(gated.listener.port, mail())).toBe('451 4.3.0');
    await expectNothing(gated.acceptance);
    gate.open();
    await eventually(async () => expect(await deliver(gated.listener.port, mail())).toBe('250 2.0.0'));
    await gate.close();
  });

  it('leaves no file if the database becomes unavailable while the message arrives', async () => {
    const url = new URL(test.url);
    const gate = await startTcpGate({ host: url.hostname, port: Number(url.port) });
    url.host = `127.0.0.1:${gate.port}`;
    const gated = await start({ url: url.href });
    const { inboxes } = gated.acceptance;
    // The connections break after the recipient was accepted.
    const resolve: typeof inboxes.resolve = async (address) => {
      const found = await inboxes.resolve(address);
      gate.shut();
      return found;
    };
    const { listener: breaking } = await start(
      {},
      { inboxes: { accept: inboxes.accept, ofMessage: inboxes.ofMessage, resolve } },
    );
    for (const bytes of [1_000, MIB]) {
      gate.open();
      await eventually(async () => expect(await inboxes.resolve('support@acme.example')).toBeTruthy());
      expect(await deliver(breaking.port, mail({ data: large(bytes) }))).toBe('451 4.3.0');
      await expectNothing(gated.acceptance);
    }
    await gate.close();
  });

  it.each([1_000, MIB])('is asked for again while the storage is unavailable, at %i bytes', async (bytes) => {
    const blobs = join(acceptance.home, 'blobs');
    rmSync(blobs, { recursive: true, force: true });
    writeFileSync(blobs, 'not a folder');
    const data = large(bytes);
    expect(await deliver(listener.port, mail({ data }))).toBe('451 4.3.0');
    await expectNothing(acceptance);
    rmSync(blobs);
    expect(await deliver(listener.port, mail({ data }))).toBe('250 2.0.0');
  });

  it('does not make the others of its group fail', async () => {
    await test.database.pool.query(
      `create or replace function refuse() returns trigger language plpgsql as $$ begin raise 'no'; end $$`,
    );
    await test.database.pool.query(
      `create trigger refuse before insert on inbound_mails for each row
       when (new.envelope_from = 'bad@example.net') execute function refuse()`,
    );
    const senders = ['ann@example.net', 'bad@example.net', 'bob@example.net'];
    const replies = await Promise.all(senders.map((from) => deliver(listener.port, mail({ from }))));
    await test.database.pool.query('drop trigger refuse on inbound_mails');
    expect(replies).toEqual(['250 2.0.0', '451 4.3.0', '250 2.0.0']);
    expect(await acceptance.mails()).toHaveLength(2);
    expect(await acceptance.keys()).toHaveLength(2);
    expect(await acceptance.bytesOf(tenant.accountId)).toBe(2 * text.length);
  });
});

describe('the quota of an account', () => {
  it('refuses the mail that exceeds it for now, and counts only what is stored', async () => {
    const limited = await start({ quotaBytes: 2 * text.length + 1 });
    const { port } = limited.listener;
    const replies = await Promise.all([1, 2, 3].map(() => deliver(port, mail())));
    expect(replies.toSorted()).toEqual(['250 2.0.0', '250 2.0.0', '452 4.2.2']);
    expect(await limited.acceptance.keys()).toHaveLength(2);
    expect(await limited.acceptance.bytesOf(tenant.accountId)).toBe(2 * text.length);
    expect(await deliver(port, mail({ data: 'x' }))).toBe('452 4.2.2');
  });

  it('is not asked first far below it, and bounds what is stored nevertheless', async () => {
    const pool = openDatabase({ url: test.url, poolMax: 1, keyedPlans: true }).pool;
    const asked: unknown[] = [];
    pool.on('acquire', (client) => asked.push(client));
    const limited = await start({ quotaBytes: 1_000, pool });
    const { inboxes } = limited.acceptance;
    const found = await inboxes.resolve('support@acme.example');
    if (found.kind !== 'inbox') throw new Error('the inbox is missing');
    const targets = [
      { inbox: found, recipient: 'support@acme.example', answersMessageId: null, isReport: false },
    ];
    const accept = (bytes: number) =>
      inboxes.accept({
        source: 'smtp',
        envelopeFrom: '',
        ip: null,
        helo: null,
        targets,
        content: Buffer.alloc(bytes, 'x'),
      });
    asked.length = 0;
    await accept(100);
    // Only the transaction that inserts it.
    expect(asked).toHaveLength(1);
    await expect(accept(950)).rejects.toThrow('no room');
    expect(await limited.acceptance.keys()).toHaveLength(1);
    await pool.end();
  });

  it.each([1_000, MIB])('is asked before a message of %i bytes is stored', async (bytes) => {
    const quotaBytes = 400;
    const { store } = acceptance;
    const stored: string[] = [];
    const watched = {
      ...store,
      put: (key: string, content: Uint8Array) => (stored.push(key), store.put(key, content)),
      putStream: ((key, content, limits) => (
        stored.push(key),
        store.putStream(key, content, limits)
      )) satisfies typeof store.putStream,
    };
    const limited = await start({ quotaBytes, store: watched });
    const { inboxes } = limited.acceptance;
    await test.database.pool.query('insert into inbox_storage (account_id, bytes) values ($1, $2)', [
      tenant.accountId,
      0.9 * quotaBytes,
    ]);
    const found = await inboxes.resolve('support@acme.example');
    // The account is full after the recipient was accepted.
    const { listener: late } = await start({}, { inboxes: { ...inboxes, resolve: async () => found } });
    await test.database.pool.query('update inbox_storage set bytes = $2 where account_id = $1', [
      tenant.accountId,
      quotaBytes,
    ]);
    expect(await deliver(late.port, mail({ data: large(bytes) }))).toBe('452 4.2.2');
    expect(stored).toEqual([]);
    expect(await acceptance.bytesOf(tenant.accountId)).toBe(quotaBytes);
  });

  it('is kept by one eviction for all mails that arrive at once', async () => {
    const quotaBytes = 100_000;
    const { pool } = test.database;
    const limited = await start({ quotaBytes });
    await pool.query(
      `insert into conversation_messages (account_id, brand_id, inbox_id, direction, from_address, raw_key, raw_size,
         stored_bytes, quarantine)
       select $1::bigint, $2, $3, 'inbound', 'a@b.example', 'inbox/' || $1::bigint || '/' || lpad(n::text, 32, '0'), 1000, 1000,
         '{"reason": "spam", "detail": null, "released_at": null}' from generate_series(1, 100) n`,
      [tenant.accountId, tenant.brandId, inboxId],
    );
    await pool.query('insert into inbox_storage (account_id, bytes) values ($1, $2)', [
      tenant.accountId,
      quotaBytes,
    ]);
    const found = await limited.acceptance.inboxes.resolve('support@acme.example');
    if (found.kind !== 'inbox') throw new Error('the inbox is missing');
    const targets = [
      { inbox: found, recipient: 'support@acme.example', answersMessageId: null, isReport: false },
    ];
    const content = Buffer.alloc(10, 'x');
    const one = { source: 'smtp', envelopeFrom: '', ip: null, helo: null, targets, content } as const;
    await Promise.all(Array.from({ length: 30 }, () => limited.acceptance.inboxes.accept({ ...one })));
    const { rows } = await pool.query<{ evicted_count: number }>('select evicted_count from inbox_storage');
    // One makes room for a hundredth of the quota more than it needs, which is enough for the others.
    expect(rows).toEqual([{ evicted_count: 2 }]);
  });

  it('refuses the recipient of a full account, so that the others get the mail', async () => {
    await insertInbox(test.database, other, 'sales@other.example');
    await test.database.pool.query('insert into inbox_storage (account_id, bytes) values ($1, 1000)', [
      other.accountId,
    ]);
    const limited = await start({ quotaBytes: 1_000 });
    expect(await deliver(limited.listener.port, mail({ to: 'sales@other.example' }))).toBe('452 4.2.2');
    expect(await deliver(limited.listener.port, mail())).toBe('250 2.0.0');
  });
});

describe('the limits of senders', () => {
  const limits = { senderPerMinute: 2, networkPerMinute: 5 };
  const from = async (port: number, ...senders: string[]) => {
    const replies: string[] = [];
    for (const sender of senders) replies.push(await deliver(port, mail({ from: sender })));
    return replies;
  };
  const [ok, busy] = ['250 2.0.0', '451 4.7.1'];

  it('ask a sender who mails one inbox too often to try later', async () => {
    const limited = await start({}, { limits });
    const [ann, bob] = ['ann@example.net', 'bob@example.net'];
    expect(await from(limited.listener.port, ann, ann, ann, bob)).toEqual([ok, ok, busy, ok]);
    expect(await limited.acceptance.mails()).toHaveLength(3);
  });

  it.each([
    ['recipients that get no message', false],
    ['messages', true],
  ])('do not keep out a sender whom a client of another network names, with %s', async (_what, sends) => {
    const limited = await start({}, { limits, trustedProxies: ['127.0.0.0/8'] });
    const { port } = limited.listener;
    const attacker = await startDialogue(port, 'PROXY TCP4 198.51.100.7 192.0.2.200 4000 25\r\n');
    await attacker.say('EHLO mx.example.org');
    for (let n = 0; n < 4; n += 1) {
      await attacker.say('MAIL FROM:<ann@example.net>');
      await attacker.say('RCPT TO:<support@acme.example>');
      if (sends) await attacker.say('DATA');
      await attacker.say(sends ? `${text}.` : 'RSET');
    }
    const ann = await startDialogue(port, 'PROXY TCP4 192.0.2.1 192.0.2.200 4000 25\r\n');
    await ann.say('EHLO mx.example.net');
    await ann.say('MAIL FROM:<ann@example.net>');
    expect(await ann.say('RCPT TO:<support@acme.example>')).toMatch(/^250 /);
    await ann.say('DATA');
    expect(await ann.say(`${text}.`)).toMatch(/^250 /);
    expect((await limited.acceptance.mails()).at(-1)).toMatchObject({ ip: '192.0.2.1' });
    for (const { socket } of [attacker, ann]) socket.destroy();
  });

  it('count no recipient whose message is not sent', async () => {
    const limited = await start({}, { limits: { ...limits, networkPerMinute: 60 } });
    const { say, socket } = await startDialogue(limited.listener.port);
    await say('EHLO mx.example.com');
    for (let n = 0; n < 9; n += 1) {
      await say('MAIL FROM:<ann@example.net>');
      expect(await say('RCPT TO:<support@acme.example>')).toMatch(/^250 /);
      await say('RSET');
    }
    socket.destroy();
    expect(await from(limited.listener.port, 'ann@example.net')).toEqual([ok]);
  });

  it('refuse the address of a sender that is too long to be one', async () => {
    const { say, socket } = await startDialogue(listener.port);
    await say('EHLO mx.example.com');
    await say(`MAIL FROM:<${'x'.repeat(5_000)}@example.net>`);
    expect(await say('RCPT TO:<support@acme.example>')).toMatch(/^553 5\.1\.7 /);
    socket.destroy();
  });

  it('look up no more recipients for a client that guesses addresses', async () => {
    const { say, socket } = await startDialogue(listener.port);
    await say('EHLO mx.example.com');
    await say('MAIL FROM:<ann@example.net>');
    const replies: string[] = [];
    for (let n = 0; n < 21; n += 1) replies.push((await say(`RCPT TO:<u${n}@acme.example>`)).slice(0, 3));
    socket.destroy();
    expect(replies).toEqual([...Array.from({ length: 20 }, () => '550'), '421']);
  });

  it('ask a network that sends too many mails to try later, but take its bounces', async () => {
    const limited = await start({}, { limits });
    const senders = Array.from({ length: 6 }, (_each, index) => `u${index}@example.net`);
    expect(await from(limited.listener.port, ...senders)).toEqual([ok, ok, ok, ok, ok, busy]);
    expect(await deliver(limited.listener.port, mail({ to: 'postmaster@mail.test' }))).toBe(ok);
  });
});

describe('behind a proxy', () => {
  const proxied = {
    trustedProxies: ['127.0.0.0/8'],
    limits: { connectionsPerNetwork: 1, networkPerMinute: 1 },
  };
  const announce = (address: string) => `PROXY TCP4 ${address} 192.0.2.200 4000 25\r\n`;
  const send = async (port: number, address: string) => {
    const { say, socket } = await startDialogue(port, announce(address));
    for (const line of ['EHLO mx.example.com', 'MAIL FROM:<ann@example.net>']) await say(line);
    const reply = await say('RCPT TO:<support@acme.example>');
    if (reply.startsWith('250')) {
      await say('DATA');
      await say(`${text}.`);
    }
    socket.destroy();
    return reply.slice(0, 3);
  };

  it('the client that the proxy announces has sent the mail, and is limited', async () => {
    const behind = await start({}, proxied);
    const { port } = behind.listener;
    expect([
      await send(port, '192.0.2.1'),
      await send(port, '192.0.2.1'),
      await send(port, '192.0.2.2'),
    ]).toEqual(['250', '451', '250']);
    expect((await behind.acceptance.mails()).map(({ ip }) => ip)).toEqual(['192.0.2.1', '192.0.2.2']);
  });

  it('connections are counted for the client that the proxy announces', async () => {
    const { listener: behind } = await start({}, proxied);
    const first = await startDialogue(behind.port, announce('192.0.2.1'));
    const closed = once(first.socket, 'close');
    const other = await startDialogue(behind.port, announce('192.0.2.2'));
    const second = await startDialogue(behind.port, announce('192.0.2.1'));
    await closed;
    for (const { say } of [second, other]) expect(await say('NOOP')).toMatch(/^250 /);
    for (const { socket } of [second, other]) socket.destroy();
  });

  it('ends a connection that does not reach DATA in time', async () => {
    const { listener: behind } = await start({}, { ...proxied, limits: { untilDataMs: 300 } });
    const { socket } = await startDialogue(behind.port, announce('192.0.2.1'));
    await once(socket, 'close');
  });

  it('only a proxy can announce a client', async () => {
    const { port } = (await start({}, { trustedProxies: ['10.0.0.0/8'] })).listener;
    const { greeting, socket } = await startDialogue(port, announce('192.0.2.1'));
    expect(greeting).toMatch(/^421 /);
    socket.destroy();
  });
});
