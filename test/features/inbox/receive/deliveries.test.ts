// POST /inbound/<token> takes mail to the inboxes of the token's account only, and stores all of it or nothing.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { returnPathAddress } from '../../../../src/delivery/terms/addresses/return-path.ts';
import { type Database, openDatabase } from '../../../../src/platform/db/database.ts';
import { createKeyring } from '../../../../src/platform/secrets/keyring.ts';
import { createHomeStore } from '../../../../src/platform/storage/local-disk.ts';
import { type ApiServer, startApi } from '../../../../src/roles/api.ts';
import { startTestApi, TEST_SECRET, type TestApi, type TestTenant } from '../../../support/api.ts';
import { eventually } from '../../../support/eventually.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import { allowInboxes, insertInbox } from '../../../support/inboxes.ts';
import { queueEmails } from '../../../support/queued.ts';
import { deliveryStatus } from '../../../support/reports.ts';
import { startTcpGate, type TcpGate } from '../../../support/tcp-gate.ts';

const MIB = 1024 * 1024;
const text =
  'From: Ann <ann@example.net>\r\nTo: other@acme.example\r\nSubject: Hello\r\n\r\nHow are you?\r\n';
const token = 'a-token-of-the-tests';

/** A mail of so many bytes. */
function mailOf(bytes: number): Buffer {
  const data = Buffer.alloc(bytes, `${'x'.repeat(76)}\r\n`);
  data.write('Subject: Hello\r\n\r\n');
  return data;
}

const home = mkdtempSync(join(tmpdir(), 'carillon-inbox-'));
let api: TestApi;
let other: TestTenant;
let inboxId: number;

beforeAll(async () => {
  api = await startTestApi({ env: { INBOX_SENDER_PER_MINUTE: '6', CARILLON_HOME: home } });
  ({ other } = api);
  for (const [tenant, domain] of [
    [api, 'acme.example'],
    [other, 'stranger.example'],
  ] as const) {
    await allowInboxes(api.database, tenant.accountId);
    await insertVerifiedDomain(api.database, tenant, domain);
  }
  inboxId = await insertInbox(api.database, api, 'support@acme.example');
  await insertInbox(api.database, other, 'sales@stranger.example');
  await api.database.pool.query('insert into inbound_tokens (account_id, digest) values ($1, $2)', [
    api.accountId,
    createHash('sha256').update(token).digest(),
  ]);
});
beforeEach(async () => {
  await api.database.pool.query('delete from inbound_mails');
});
afterAll(async () => {
  await api.close();
  rmSync(home, { recursive: true, force: true });
});

async function post(query: string, body: RequestInit['body'] = text, secret = token) {
  const response = await fetch(`${api.baseUrl}/inbound/${secret}?${query}`, {
    method: 'POST',
    body: body ?? null,
    headers: { 'content-type': 'message/rfc822' },
    ...(body instanceof ReadableStream ? { duplex: 'half' } : {}),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}
/** Sends only the header of a request. @returns the status of the response */
async function announce(bytes: number): Promise<number | undefined> {
  const headers = { 'content-length': bytes };
  const url = `${api.baseUrl}/inbound/${token}?to=support@acme.example`;
  const sent = request(url, { method: 'POST', headers });
  sent.flushHeaders();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  sent.on('error', () => undefined).destroy();
  return response.statusCode;
}

const mails = async () => {
  const { rows } = await api.database.pool.query(
    'select inbox_id, envelope_from, recipient, ip, helo, source, size from inbound_mails order by id',
  );
  return rows as Record<string, unknown>[];
};

describe('a mail with a genuine token', () => {
  it('is stored for the inboxes in the query, not for those in the header', async () => {
    const query = 'from=ann@example.net&to=support%2B1@acme.example&ip=192.0.2.1&helo=mx.example.net';
    expect(await post(query)).toEqual({ status: 200, body: { accepted: 1 } });
    expect(await mails()).toEqual([
      {
        inbox_id: inboxId,
        envelope_from: 'ann@example.net',
        recipient: 'support+1@acme.example',
        ip: '192.0.2.1',
        helo: 'mx.example.net',
        source: 'http',
        size: text.length,
      },
    ]);
  });

  it('has no address and no name of a server if the client gives none', async () => {
    await post('to=support@acme.example');
    expect(await mails()).toMatchObject([{ envelope_from: '', ip: null, helo: null }]);
  });

  it('has a sender without a name', async () => {
    await post(`from=${encodeURIComponent('"Ann" <ann@example.net>')}&to=support@acme.example`);
    expect(await mails()).toMatchObject([{ envelope_from: 'ann@example.net' }]);
  });

  it('leaves places for the bodies of other accounts, however slowly it arrives', async () => {
    const url = `${api.baseUrl}/inbound/${token}?to=support@acme.example&from=`;
    const begin = (n: number) => {
      const sent = request(`${url}slow${n}@example.net`, { method: 'POST' });
      sent.on('error', () => undefined).write('From: ');
      return sent;
    };
    const open = Array.from({ length: 9 }, (_each, n) => begin(n));
    // Eight wait for the rest of their bodies.
    const [refused] = (await Promise.race(open.map((sent) => once(sent, 'response')))) as [IncomingMessage];
    expect(refused.statusCode).toBe(429);
    for (const sent of open) sent.destroy();
    let senders = 0;
    await eventually(async () =>
      expect((await post(`to=support@acme.example&from=u${(senders += 1)}@example.net`)).status).toBe(200),
    );
  });

  it('may be large', async () => {
    const data = mailOf(2 * MIB);
    expect(await post('to=support@acme.example', data)).toMatchObject({ status: 200 });
    expect(await mails()).toMatchObject([{ size: data.length }]);
  });

  it('reports the bounce of a message of the account', async () => {
    const [messageId = 0] = await queueEmails(api.database, api, 1);
    await api.database.pool.query('delete from send_queue');
    await api.database.pool.query(
      `update messages set status = 'sent', sent_at = now(), sent_attempt = 1, provider = 'smtp'`,
    );
    const { key } = createKeyring(TEST_SECRET).subkey('return-path');
    const pathOf = (accountId: number) => returnPathAddress(key, { accountId, messageId }, 'mail.test');
    const data = (to: string) =>
      deliveryStatus({ returnPath: to, to: 'u0@example.com', messageId: 'x@mail.test' });
    const path = pathOf(api.accountId);
    expect(await post(`to=${path}`, data(path))).toEqual({ status: 200, body: { accepted: 1 } });
    const { rows } = await api.database.pool.query('select status from messages where id = $1', [messageId]);
    expect(rows).toEqual([{ status: 'bounced' }]);
    const foreign = pathOf(other.accountId);
    expect(await post(`to=${foreign}`, data(foreign))).toMatchObject({ status: 422 });
  });
});

describe('a request that is refused stores nothing', () => {
  afterEach(async () => expect(await mails()).toEqual([]));

  it('with an unknown token', async () => {
    expect(await post('to=support@acme.example', text, 'unknown')).toMatchObject({ status: 404 });
  });

  it('with recipients that are no inboxes of the account, which it names', async () => {
    const query =
      'to=support@acme.example&to=sales@stranger.example&to=nobody@acme.example&to=postmaster@mail.test';
    expect(await post(query)).toMatchObject({
      status: 422,
      body: {
        validation_errors: {
          'to.1': [expect.any(String)],
          'to.2': [expect.any(String)],
          'to.3': [expect.any(String)],
        },
      },
    });
  });

  it.each([
    '',
    `${'to=support@acme.example&'.repeat(21)}`,
    'to=support@acme.example&ip=x',
    'to=support@acme.example&from=x',
    'to=support@acme.example&cc=x',
    'to=support@acme.example&helo=a%00b',
  ])('with the query %j', async (query) => {
    expect(await post(query)).toMatchObject({ status: 422 });
  });

  it('with a body that is too large, whether its size is announced or not', async () => {
    const data = mailOf(26 * MIB);
    expect(await announce(data.length)).toBe(413);
    const stream = new ReadableStream({
      start(controller) {
        for (let at = 0; at < data.length; at += MIB) controller.enqueue(data.subarray(at, at + MIB));
        controller.close();
      },
    });
    expect(await post('to=support@acme.example', stream)).toMatchObject({ status: 413 });
  });
});

let bodies = 0;

/** Posts a body of another type, or of none, from a sender of its own. */
async function postAs(type: string | null, body: string, headers: Record<string, string> = {}) {
  const query = `to=support@acme.example&from=body${(bodies += 1)}@example.net`;
  const response = await fetch(`${api.baseUrl}/inbound/${token}?${query}`, {
    method: 'POST',
    body: Buffer.from(body),
    headers: { ...headers, ...(type === null ? {} : { 'content-type': type }) },
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe('a body that is no mail is refused', () => {
  it.each([
    ['application/json', '{"from": "ann@example.net", "subject": "Hello"}'],
    ['application/json', text],
    [
      'multipart/form-data; boundary=b',
      '--b\r\nContent-Disposition: form-data; name="email"\r\n\r\nx\r\n--b--\r\n',
    ],
    ['application/x-www-form-urlencoded', 'recipient=support%40acme.example&body-plain=Hello'],
    ['text/html', '<p>Hello</p>'],
    ['application/xml', '<mail/>'],
    ['image/png', 'PNG'],
  ])('if its type is %s: %s', async (type, body) => {
    const answer = await postAs(type, body);
    expect(answer).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } });
    expect(await mails()).toEqual([]);
  });

  it('if it is compressed', async () => {
    const headers = { 'content-encoding': 'gzip' };
    expect(await postAs('message/rfc822', text, headers)).toMatchObject({ status: 415 });
  });

  it.each([
    '',
    '\r\n',
    'Hello',
    '\r\nFrom: ann@example.net\r\n',
    '{"from": "ann@example.net"}',
    '<html><body>From: Ann</body></html>',
    'https://example.net/: see there\r\n\r\nHello',
    'recipient=support%40acme.example&subject=Re:%20Hello',
    'SGVsbG8sIHdvcmxkIQ==',
    // Its lines end with CR alone, so all of it would be one field.
    'From: ann@example.net\rSubject: Hello\r\rwords',
  ])('if it is %p', async (body) => {
    for (const type of ['message/rfc822', 'application/octet-stream']) {
      const answer = await postAs(type, body);
      expect(answer).toMatchObject({
        status: 422,
        body: { validation_errors: { body: [expect.any(String)] } },
      });
    }
    expect(await mails()).toEqual([]);
  });
});

describe('a mail', () => {
  it.each([
    ['message/rfc822', text],
    ['message/global; charset=utf-8', text],
    ['text/plain;charset=UTF-8', text],
    ['application/octet-stream', `From ann@example.net Fri Nov 27 10:00:00 2026\r\n${text}`],
    // What curl sends with --data-binary.
    ['application/x-www-form-urlencoded', text],
    [null, 'X-Device: door\nSubject : Alarm\n\nAlarm\n'],
    [null, 'Received: from a\r\n\tby b\r\nX-A: 1'],
  ])('is accepted as %p: %j', async (type, body) => {
    expect(await postAs(type, body)).toMatchObject({ status: 200 });
  });
});

it('asks to try later if one sender sends too many mails', async () => {
  const statuses: number[] = [];
  for (let count = 0; count < 7; count += 1)
    statuses.push((await post('from=eve@example.net&to=support@acme.example')).status);
  expect(statuses.filter((status) => status === 200)).toHaveLength(6);
  expect(statuses.at(-1)).toBe(429);
});

it('does not ask a sender to try later because another client names it', async () => {
  const send = async (ip: string) =>
    (await post(`from=bob@example.net&to=support@acme.example&ip=${ip}`)).status;
  const statuses: number[] = [];
  for (let count = 0; count < 7; count += 1) statuses.push(await send('198.51.100.7'));
  expect(statuses.at(-1)).toBe(429);
  expect(await send('192.0.2.1')).toBe(200);
});

describe('without the database or the storage', () => {
  const sizes = [1_000, MIB];
  let gate: TcpGate;
  let gated: Database;
  let server: ApiServer;
  let senders = 0;

  beforeEach(() => {
    gate.open();
    rmSync(join(home, 'blobs'), { recursive: true, force: true });
  });
  beforeAll(async () => {
    const url = new URL(api.config.DATABASE_URL ?? '');
    gate = await startTcpGate({ host: url.hostname, port: Number(url.port) });
    url.host = `127.0.0.1:${gate.port}`;
    gated = openDatabase({ url: url.href, poolMax: 2 });
    const config = { ...api.config, DATABASE_URL: url.href };
    const keyring = createKeyring(TEST_SECRET);
    server = await startApi({ config, database: gated, keyring, log: pino({ level: 'silent' }) });
  });
  afterAll(async () => {
    await server.stop();
    await gated.close();
    await gate.close();
  });

  async function send(bytes: number): Promise<{ status: number; retryAfter: string | null }> {
    const query = `to=support@acme.example&from=v${(senders += 1)}@example.net`;
    const body = mailOf(bytes);
    const url = `http://127.0.0.1:${server.port}/inbound/${token}?${query}`;
    const { status, headers } = await fetch(url, { method: 'POST', body });
    return { status, retryAfter: headers.get('retry-after') };
  }
  const files = async () => {
    const keys: string[] = [];
    for await (const listing of createHomeStore(home).list('inbox', 1_000))
      keys.push(...listing.keys, ...listing.drafts);
    return keys;
  };
  const expectNothing = async () => {
    expect(await mails()).toEqual([]);
    expect(await files()).toEqual([]);
  };
  const expectTaken = async () => {
    await eventually(async () => expect(await send(1_000)).toMatchObject({ status: 200 }));
    expect(await mails()).toMatchObject([{ inbox_id: inboxId }]);
  };
  const untilInsertWaits = () =>
    eventually(async () => {
      const { rows } = await api.database.pool.query(
        `select from pg_locks where relation = 'inbound_mails'::regclass and not granted`,
      );
      expect(rows).toHaveLength(1);
    });

  it('asks for a mail again while the database is unavailable', async () => {
    gate.shut();
    expect(await send(1_000)).toEqual({ status: 503, retryAfter: '1' });
    await expectNothing();
    gate.open();
    await expectTaken();
  });

  it.each(sizes)('keeps nothing of %i bytes if the database is lost before the commit', async (bytes) => {
    const client = await api.database.pool.connect();
    await client.query('begin');
    await client.query('lock table inbound_mails in share mode');
    const response = send(bytes);
    await untilInsertWaits();
    expect(await files()).toHaveLength(1);
    gate.shut();
    expect(await response).toEqual({ status: 503, retryAfter: '60' });
    await client.query('rollback');
    client.release();
    await expectNothing();
    gate.open();
    await expectTaken();
  });

  it.each(sizes)('asks for a mail of %i bytes again while the storage is unavailable', async (bytes) => {
    const blobs = join(home, 'blobs');
    writeFileSync(blobs, 'not a folder');
    expect(await send(bytes)).toEqual({ status: 503, retryAfter: '60' });
    rmSync(blobs);
    await expectNothing();
    await expectTaken();
  });

  it('lets the client send all of a mail that cannot be stored, so that it can read the response', async () => {
    writeFileSync(join(home, 'blobs'), 'not a folder');
    const query = `to=support@acme.example&from=v${(senders += 1)}@example.net`;
    const sent = request(`http://127.0.0.1:${server.port}/inbound/${token}?${query}`, { method: 'POST' });
    sent.end(mailOf(20 * MIB));
    const [[response]] = await Promise.all([once(sent, 'response'), once(sent, 'finish')]);
    expect((response as IncomingMessage).statusCode).toBe(503);
    (response as IncomingMessage).resume();
  });
});
