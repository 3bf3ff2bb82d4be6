// The port for submission takes mail only after a login with a live API key over TLS, and whole mails only.
import { once } from 'node:events';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { openTlsFiles } from '../../../../src/delivery/wire/listening/tls-files.ts';
import type { SubmissionListenerOptions } from '../../../../src/delivery/wire/submission/listener.ts';
import { SubmissionRefusal } from '../../../../src/delivery/wire/submission/port.ts';
import { AppError, invalid } from '../../../../src/errors.ts';
import { createApiKey, revokeApiKey } from '../../../../src/features/api-keys/service.ts';
import { generateKey } from '../../../../src/platform/auth/api-key.ts';
import { createKeyLookup } from '../../../../src/platform/auth/key-lookup.ts';
import { createTestTenant, type TestTenant } from '../../../support/api.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';
import { eventually } from '../../../support/eventually.ts';
import { startDialogue, startTlsDialogue, type SmtpDialogue } from '../../../support/smtp-dialogue.ts';
import {
  certificates,
  findKeyBy,
  logIn,
  mailOver,
  plainLogin,
  SHORT_MAIL,
  startTestSubmission,
  type TestSubmission,
} from '../../../support/submission.ts';

let test: TestDatabase;
let tenant: TestTenant;
let submission: TestSubmission;
/** What a test has opened. */
let opened: { stop(): Promise<unknown> }[] = [];

beforeAll(async () => {
  test = await createTestDatabase({ poolMax: 4 });
  tenant = await createTestTenant(test.database, 'Acme');
  submission = await startTestSubmission(test.database.pool);
});
beforeEach(() => {
  submission.taken.length = 0;
});
afterEach(async () => {
  for (const one of opened) await one.stop();
  opened = [];
});
afterAll(async () => {
  await submission.stop();
  await test.drop();
});

async function start(options: Partial<SubmissionListenerOptions>): Promise<TestSubmission> {
  const started = await startTestSubmission(test.database.pool, options);
  opened.push(started);
  return started;
}

/** A client that has logged in over TLS. */
async function loggedIn({ tlsPort } = submission, key = tenant.apiKey): Promise<SmtpDialogue> {
  const client = await startTlsDialogue(tlsPort);
  expect(await logIn(client, key)).toMatch(/^235 /);
  return client;
}

const featuresIn = (reply: string) =>
  reply
    .split('\r\n')
    .slice(1)
    .map((line) => line.slice(4));

describe('logins', () => {
  it('are offered only over TLS', async () => {
    const client = await startDialogue(submission.port);
    const inClear = featuresIn(await client.say('EHLO app.example.com'));
    expect(inClear).toEqual(['PIPELINING', '8BITMIME', 'SMTPUTF8', 'STARTTLS', 'SIZE 26214400']);
    await client.say('STARTTLS');
    await client.secure();
    const overTls = ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'AUTH PLAIN LOGIN', 'SIZE 26214400'];
    expect(featuresIn(await client.say('EHLO app.example.com'))).toEqual(overTls);
    expect(await client.say(`AUTH PLAIN ${plainLogin(tenant.apiKey)}`)).toMatch(/^235 /);
    expect(await mailOver(client)).toBe('250 2.0.0 queued as 1');
    const direct = await startTlsDialogue(submission.tlsPort);
    expect(featuresIn(await direct.say('EHLO app.example.com'))).toEqual(overTls);
  });

  it('are required of every command, also where the library does not ask', async () => {
    const login = `AUTH PLAIN ${plainLogin(tenant.apiKey)}`;
    const commands = [
      login,
      'AUTH LOGIN',
      'MAIL FROM:<ann@example.com>',
      'RCPT TO:<bob@example.net>',
      'DATA',
    ];
    const inClear = await startDialogue(submission.port);
    await inClear.say('EHLO app.example.com');
    const replies: string[] = [];
    for (const command of commands) replies.push(await inClear.say(command));
    expect(replies.map((reply) => reply.slice(0, 3))).toEqual(['500', '500', '530', '503', '503']);
    expect(replies[2]).toBe('530 5.7.0 Must issue a STARTTLS command first');

    const overTls = await startTlsDialogue(submission.tlsPort);
    await overTls.say('EHLO app.example.com');
    for (const command of commands.slice(2)) expect(await overTls.say(command)).toMatch(/^530 /);
    for (const joke of ['WIZ', 'SHELL', 'KILL', 'XCLIENT ADDR=192.0.2.1', 'XFORWARD ADDR=192.0.2.1'])
      expect(await overTls.say(joke)).toMatch(/^5/);
    expect(submission.taken).toEqual([]);
  });

  it('in clear are taken from programs of this machine only, and only if the setting allows them', async () => {
    const local = await start({ clearLogins: true, tls: null });
    const client = await startDialogue(local.port);
    expect(featuresIn(await client.say('EHLO app.example.com'))).toContain('AUTH PLAIN LOGIN');
    expect(await client.say('STARTTLS')).toMatch(/^500 /);
    expect(await client.say(`AUTH PLAIN ${plainLogin(tenant.apiKey)}`)).toMatch(/^235 /);
    expect(await mailOver(client)).toMatch(/^250 /);
    for (const options of [
      { clearLogins: false, tls: null },
      { clearLogins: true, trustedProxies: ['192.0.2.200'] },
      { clearLogins: true, host: '0.0.0.0' },
    ]) {
      const { port } = await start(options);
      const refused = await startDialogue(port);
      expect(await refused.say('EHLO app.example.com')).not.toContain('AUTH');
      expect(await refused.say(`AUTH PLAIN ${plainLogin(tenant.apiKey)}`)).toMatch(/^500 /);
      expect(await refused.say('MAIL FROM:<ann@example.com>')).toMatch(/^530 5\.7\.0 /);
    }
  });

  it('take an API key as the password, with any user name', async () => {
    const client = await startTlsDialogue(submission.tlsPort);
    await client.say('EHLO app.example.com');
    const unknown = generateKey('live').key;
    const attempt = (password: string) => client.say(`AUTH PLAIN ${plainLogin(password, 'someone')}`);
    expect(await attempt('swordfish')).toBe('535 5.7.8 the password must be an API key');
    expect(await attempt(unknown)).toBe('535 5.7.8 the API key is unknown or revoked');
    expect(await client.say('AUTH LOGIN')).toMatch(/^334 /);
    expect(await client.say(Buffer.from('user').toString('base64'))).toMatch(/^334 /);
    expect(await client.say(Buffer.from(tenant.apiKey).toString('base64'))).toMatch(/^235 /);
  });

  it('look up an unknown key once a minute, and hang up at the tenth failure of a connection', async () => {
    const asked: string[] = [];
    const find = findKeyBy(createKeyLookup(test.database.pool));
    const own = await start({ findKey: (text) => (asked.push(text), find(text)) });
    const client = await startTlsDialogue(own.tlsPort);
    await client.say('EHLO app.example.com');
    const { key } = generateKey('live');
    for (let failures = 1; failures < 10; failures += 1)
      expect(await client.say(`AUTH PLAIN ${plainLogin(key)}`)).toMatch(/^535 5\.7\.8 /);
    expect(await client.say(`AUTH PLAIN ${plainLogin(key)}`)).toBe('421 4.7.0 too many failed logins');
    await once(client.socket, 'close');
    expect(asked).toEqual([key]);
  });

  it('of 200 guesses are refused, and a genuine client of the same network is served', async () => {
    const own = await start({});
    const guess = async (passwords: string[]) => {
      const client = await startTlsDialogue(own.tlsPort);
      await client.say('EHLO app.example.com');
      const replies: string[] = [];
      for (const password of passwords) replies.push(await client.say(`AUTH PLAIN ${plainLogin(password)}`));
      client.socket.destroy();
      return replies.map((reply) => reply.slice(0, 9));
    };
    const many = (count: number, password: () => string) => Array.from({ length: count }, password);
    const all = (
      await Promise.all(many(25, () => 'password').map(() => guess(many(8, () => 'password'))))
    ).flat();
    expect(all.filter((reply) => reply === '535 5.7.8')).toHaveLength(20);
    expect(all.filter((reply) => reply === '454 4.7.0')).toHaveLength(180);
    // The first login from this network, which has guessed no key.
    expect(await guess([tenant.apiKey])).toEqual(['235 Authe']);
    // Now it guesses keys, with their checksums.
    const newKey = () => generateKey('live').key;
    const keys = (await Promise.all(many(3, newKey).map(() => guess(many(9, newKey))))).flat();
    expect(keys.filter((reply) => reply === '454 4.7.0')).toHaveLength(7);
    expect(await guess([tenant.apiKey])).toEqual(['235 Authe']);
  });

  it('are refused for now while the database is away', async () => {
    const findKey = () => Promise.reject(new AppError('unavailable', 'the key cannot be checked right now'));
    const { tlsPort } = await start({ findKey });
    const client = await startTlsDialogue(tlsPort);
    for (let more = 0; more < 9; more += 1)
      expect(await logIn(client, tenant.apiKey)).toMatch(/^454 4\.3\.0 /);
  });

  it('end when the key is revoked: the next mail is refused, and the connection closed', async () => {
    const { key, apiKey } = await createApiKey(test.database.pool, { accountId: tenant.accountId });
    const client = await loggedIn(submission, key);
    expect(await mailOver(client)).toMatch(/^250 /);
    await revokeApiKey(test.database.pool, apiKey.id);
    expect(await client.say('MAIL FROM:<ann@example.com>')).toBe(
      '535 5.7.8 the API key is unknown or revoked',
    );
    await once(client.socket, 'close');
  });
});

describe('STARTTLS', () => {
  it('drops what was sent before it', async () => {
    const client = await startDialogue(submission.port);
    await client.say('EHLO app.example.com');
    // What follows STARTTLS in one packet would otherwise run in the session that TLS protects.
    client.socket.write(
      `STARTTLS\r\nEHLO evil.example\r\nAUTH PLAIN ${plainLogin(tenant.apiKey)}\r\nNOOP\r\n`,
    );
    expect(await client.reply()).toMatch(/^220 /);
    await client.secure();
    expect(await client.say('MAIL FROM:<ann@example.com>')).toMatch(/^503 .*HELO/);
    expect(await client.say('EHLO app.example.com')).toContain('AUTH PLAIN LOGIN');
    expect(await client.say('MAIL FROM:<ann@example.com>')).toBe('530 5.7.0 Authentication required');
  });
});

describe('a new certificate', () => {
  it('is served without a restart, and one that does not fit its key is not', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tls-'));
    const paths = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') };
    const install = async ({ key, cert }: typeof paths) => {
      await copyFile(key, paths.key);
      await copyFile(cert, paths.cert);
    };
    await install(certificates.first);
    const files = await openTlsFiles(paths);
    const own = await start({ tls: files.pair });
    const unwatch = files.watch(own.useTls, pino({ level: 'silent' }), 20);
    const nameServed = async () => {
      const client = await startTlsDialogue(own.tlsPort);
      const { subject } = (client.socket as TLSSocket).getPeerCertificate();
      client.socket.destroy();
      return subject.CN;
    };
    const nameAfterStarttls = async () => {
      const client = await startDialogue(own.port);
      await client.say('EHLO app.example.com');
      await client.say('STARTTLS');
      const { subject } = (await client.secure()).getPeerCertificate();
      client.socket.destroy();
      return subject.CN;
    };
    try {
      const first = await nameServed();
      const stays = await loggedIn(own);
      await copyFile(certificates.second.key, paths.key);
      // The key is that of the certificate to come.
      await new Promise((resolve) => setTimeout(resolve, 100));
      expect(await nameServed()).toBe(first);
      await install(certificates.second);
      await eventually(async () => expect(await nameServed()).not.toBe(first));
      expect(await nameAfterStarttls()).not.toBe(first);
      expect(await mailOver(stays)).toMatch(/^250 /);
    } finally {
      unwatch();
      await rm(folder, { recursive: true });
    }
  });
});

describe('lines of a mail', () => {
  it.each([
    ['that end with LF', `${SHORT_MAIL}one\ntwo\r\n`, '554 5.6.0 line 5 ends with LF alone'],
    ['that contain CR', `${SHORT_MAIL}one\rtwo\r\n`, '554 5.6.0 line 5 contains CR alone'],
    ['that contain NUL', `${SHORT_MAIL}one\0two\r\n`, '554 5.6.0 line 5 contains a NUL'],
    [
      'that other servers take for the end',
      `${SHORT_MAIL}\n.\r\nMAIL FROM:<evil@example.com>\r\n`,
      '554 5.6.0 line 5 ends with LF alone',
    ],
    [
      'that other servers take for the end, with LF',
      `${SHORT_MAIL}\n.\nQUIT\r\n`,
      '554 5.6.0 line 5 ends with LF alone',
    ],
    [
      'that other servers take for the end, with CR',
      `${SHORT_MAIL}\r.\rQUIT\r\n`,
      '554 5.6.0 line 5 contains CR alone',
    ],
  ])('%s are refused', async (_what, data, reply) => {
    const client = await loggedIn();
    expect(await mailOver(client, { data })).toBe(reply);
    expect(submission.taken).toEqual([]);
    expect(await mailOver(client)).toMatch(/^250 /);
  });

  it('count by key in the metrics if they are refused', async () => {
    const own = await start({});
    const client = await loggedIn(own);
    await mailOver(client, { data: `${SHORT_MAIL}one\ntwo\r\n` });
    await mailOver(client);
    const figures = Object.fromEntries(
      await Promise.all(own.figures.map(async (source) => [source.name, await source.read()] as const)),
    );
    expect(figures).toEqual({
      carillon_submission_replies: [
        { labels: { to: 'login', reply: '235' }, value: 1 },
        { labels: { to: 'mail', reply: '554' }, value: 1 },
        { labels: { to: 'mail', reply: '250' }, value: 1 },
      ],
      carillon_submission_bad_lines: [{ labels: { key: String(tenant.apiKeyId) }, value: 1 }],
    });
  });
});

describe('the bytes of a mail', () => {
  it('arrive without the dots that the client added, with their facts', async () => {
    const client = await loggedIn();
    const long = 'x'.repeat(999);
    const data = `Subject: \u00fcber\r\n\r\n.one\r\n${long}\r\n`;
    const stuffed = data.replace(/^\./gm, '..');
    client.socket.write('MAIL FROM:<ann@example.com> SMTPUTF8 BODY=8BITMIME\r\n');
    await client.reply();
    await client.say('RCPT TO:<bob@example.net>');
    await client.say('DATA');
    expect(await client.say(`${stuffed}.`)).toMatch(/^250 /);
    const content = Buffer.from(data).toString('latin1');
    const facts = { size: content.length, eightBit: true, longLine: 4 };
    expect(submission.taken).toMatchObject([{ content, facts, smtpUtf8: true, from: 'ann@example.com' }]);
  });

  it('have the same digest whatever servers they passed', async () => {
    const client = await loggedIn();
    const traced = (trace: string) => `${trace}${SHORT_MAIL}`;
    const received = 'Received: from a.example by b.example;\r\n\tFri, 1 Jan 2027 10:00:00 +0000\r\n';
    for (const data of [
      SHORT_MAIL,
      traced(received),
      traced(
        `Return-Path: <a@example.com>\r\nDELIVERED-TO: b@example.net\r\nX-Original-To: b@example.net\r\n${received}`,
      ),
      traced('X-Other: field\r\n'),
      `${SHORT_MAIL}Received: in the body\r\n`,
    ])
      expect(await mailOver(client, { data })).toMatch(/^250 /);
    const [plain, ...others] = submission.taken.map(({ digest }) => digest);
    expect(others.map((digest) => digest === plain)).toEqual([true, true, false, false]);
  });

  it('are in memory if they are few, and otherwise in the storage until the mail is accepted or refused', async () => {
    const refused = new Set<number>();
    const own = await start({
      async submit({ mail }) {
        if (refused.has(mail.size)) throw invalid({ subject: ['is bad'] });
        return { reply: '2.0.0 queued' };
      },
    });
    const client = await loggedIn(own);
    const mailOf = (bytes: number) => `${SHORT_MAIL}${`${'x'.repeat(70)}\r\n`.repeat(bytes / 72)}`;
    for (const size of [60_000, 72_000]) await mailOver(client, { data: mailOf(size) });
    expect(own.taken.map(({ inMemory, content }) => [inMemory, content])).toEqual([
      [true, mailOf(60_000 - (60_000 % 72))],
      [false, mailOf(72_000)],
    ]);
    refused.add(mailOf(144_000).length);
    expect(await mailOver(client, { data: mailOf(144_000) })).toBe(
      '554 5.6.0 validation_error: subject: is bad',
    );
    await eventually(async () => {
      const files = await readdir(own.home, { recursive: true, withFileTypes: true });
      expect(files.filter((file) => file.isFile())).toEqual([]);
    });
  });

  it('beyond the limit are refused, before or after they were sent', async () => {
    const own = await start({ maxBytes: 100_000 });
    const client = await loggedIn(own);
    expect(await client.say('MAIL FROM:<ann@example.com> SIZE=100001')).toMatch(/^552 /);
    const data = `${SHORT_MAIL}${'x\r\n'.repeat(40_000)}`;
    expect(await mailOver(client, { data })).toBe('552 5.3.4 the mail is too large');
    expect(await mailOver(client)).toMatch(/^250 /);
  });
});

describe('the envelope', () => {
  it('needs a sender', async () => {
    const client = await loggedIn();
    expect(await client.say('MAIL FROM:<>')).toBe(
      '550 5.7.1 a sender is required: this port takes mail to send, no bounces',
    );
  });

  it('has each recipient once, and refuses what is no address', async () => {
    const client = await loggedIn();
    await client.say('MAIL FROM:<ann@example.com>');
    expect(await client.say('RCPT TO:<bob@example.net>')).toMatch(/^250 /);
    expect(await client.say('RCPT TO:<BOB@EXAMPLE.net>')).toMatch(/^250 /);
    expect(await client.say('RCPT TO:<bob@[192.0.2.1]>')).toBe(
      '553 5.1.3 validation_error: bob@[192.0.2.1] must have a domain name after the @, not an IP address',
    );
    expect(await client.say('RCPT TO:<j\u00f6rg@example.net>')).toMatch(/^250 /);
    await client.say('DATA');
    await client.say(`${SHORT_MAIL}.`);
    expect(submission.taken.map(({ recipients }) => recipients)).toEqual([
      ['bob@example.net', 'j\u00f6rg@example.net'],
    ]);
  });

  it('has at most 100 recipients, or as many as the rate limit of the key allows at once', async () => {
    const own = await start({ ratePerKey: 100 });
    const slow = await start({ ratePerKey: 5 });
    for (const [where, most] of [
      [own, 100],
      [slow, 10],
    ] as const) {
      const client = await loggedIn(where);
      await client.say('MAIL FROM:<ann@example.com>');
      for (let index = 0; index < most; index += 1)
        expect(await client.say(`RCPT TO:<u${index}@example.net>`)).toMatch(/^250 /);
      expect(await client.say('RCPT TO:<one.more@example.net>')).toBe(
        '452 4.5.3 too many recipients; send the rest in another transaction',
      );
      await client.say('DATA');
      expect(await client.say(`${SHORT_MAIL}.`)).toMatch(/^250 /);
      expect(where.taken[0]?.recipients).toHaveLength(most);
    }
  });
});

describe('a refusal', () => {
  let error: unknown;
  let own: TestSubmission;
  let client: SmtpDialogue;
  beforeAll(async () => {
    own = await startTestSubmission(test.database.pool, { submit: () => Promise.reject(error) });
    client = await loggedIn(own);
  });
  afterAll(() => own.stop());

  it.each<[string, unknown, string]>([
    [
      'of fields',
      invalid({ 'headers.X-A': ['must not be empty'], subject: ['is bad'] }),
      '554 5.6.0 validation_error: headers.X-A: must not be empty; subject: is bad',
    ],
    [
      'of a sender',
      new AppError('sender_not_verified', 'verify the domain'),
      '550 5.7.1 sender_not_verified: verify the domain',
    ],
    ['of a tag', new AppError('reserved_tag', 'it is ours'), '554 5.7.1 reserved_tag: it is ours'],
    [
      'of a key',
      new AppError('idempotency_conflict', 'used before'),
      '554 5.7.1 idempotency_conflict: used before',
    ],
    ['of a key that may not send', new AppError('forbidden', 'no'), '554 5.7.1 forbidden: no'],
    [
      'of a size',
      new AppError('payload_too_large', 'too many bytes'),
      '552 5.3.4 payload_too_large: too many bytes',
    ],
    ['without funds', new AppError('insufficient_funds', 'top up'), '452 4.3.1 insufficient_funds: top up'],
    ['by the cap', new AppError('spend_cap_reached', 'raise it'), '452 4.3.1 spend_cap_reached: raise it'],
    [
      'by the sandbox',
      new AppError('sandbox_limit_reached', 'verify'),
      '452 4.3.1 sandbox_limit_reached: verify',
    ],
    ['without a database', new AppError('unavailable', 'try again'), '451 4.3.0 unavailable: try again'],
    [
      'by a lost connection',
      new Error('secret detail'),
      '451 4.3.0 unavailable: the mail cannot be accepted now; try again later',
    ],
    [
      'with a status of its own',
      new SubmissionRefusal(554, '5.6.1', 'takes no encrypted mail'),
      '554 5.6.1 takes no encrypted mail',
    ],
    [
      'in other letters, on several lines',
      invalid({ text: ['l\u00fcge\r\n250 OK'] }),
      '554 5.6.0 validation_error: text: l?ge 250 OK',
    ],
    [
      'in many words',
      invalid({ text: ['x'.repeat(2_000)] }),
      `554 5.6.0 validation_error: text: ${'x'.repeat(473)}...`,
    ],
  ])('%s has its code', async (_what, thrown, reply) => {
    error = thrown;
    expect(await mailOver(client)).toBe(reply);
    expect(reply.length).toBeLessThanOrEqual(510);
  });
});

describe('the rate limit', () => {
  it('counts recipients, and delays a mail near the limit once before it refuses it', async () => {
    const asked: [string, number, number][] = [];
    let refusals = 1;
    const own = await start({
      ratePerKey: 7,
      limits: {
        burstOf: (perSecond) => 2 * perSecond,
        request(...counted) {
          asked.push(counted);
          if (refusals > 0) {
            refusals -= 1;
            throw new AppError('rate_limited', 'at most 7 a second', { headers: { 'Retry-After': '0.3' } });
          }
        },
      },
    });
    const client = await loggedIn(own);
    const to = ['bob@example.net', 'eve@example.net'];
    const began = performance.now();
    expect(await mailOver(client, { to })).toMatch(/^250 /);
    expect(performance.now() - began).toBeGreaterThan(290);
    expect(asked).toEqual([1, 2].map(() => [`key ${tenant.apiKeyId}`, 7, 2]));
    refusals = 2;
    expect(await mailOver(client)).toBe('450 4.7.1 rate_limited: at most 7 a second');
  });
});

describe('connections', () => {
  it('that never finish their handshake do not keep out others', async () => {
    const own = await start({ connections: 60, connectionsPerNetwork: 50 });
    const idle = Array.from({ length: 500 }, () =>
      net.connect(own.tlsPort, '127.0.0.1').on('error', () => undefined),
    );
    await Promise.all(idle.map((socket) => once(socket, 'connect')));
    const client = await loggedIn(own);
    expect(await mailOver(client)).toMatch(/^250 /);
    expect(idle.filter((socket) => !socket.destroyed).length).toBeLessThan(500);
    for (const socket of idle) socket.destroy();
  });

  it('are those of the client that a trusted proxy announces, and no stranger may announce one', async () => {
    const own = await start({ trustedProxies: ['127.0.0.1'], connectionsPerNetwork: 1 });
    const from = (ip: string) => startDialogue(own.port, `PROXY TCP4 ${ip} 192.0.2.200 4000 587\r\n`);
    const first = await from('198.51.100.7');
    const other = await from('198.51.100.8');
    await from('198.51.100.7');
    expect(await first.reply()).toBe('421 4.3.2 too many connections; try again later');
    expect(await other.say('NOOP')).toMatch(/^250 /);
    const second = await startDialogue(own.port, '\r\n\r\n').catch((error: Error) => error.message);
    expect(second).toBe('the server has closed the connection');

    const strange = await startDialogue(submission.port);
    expect(await strange.say('PROXY TCP4 198.51.100.7 192.0.2.200 4000 587')).toMatch(/^500 /);
  });

  it('are told to come back when the server stops, once their mail has its reply', async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    const own = await startTestSubmission(test.database.pool, {
      submit: async () => {
        begin();
        await finished;
        return { reply: '2.0.0 queued as 17' };
      },
    });
    const [idle, busy] = [await loggedIn(own), await loggedIn(own)];
    const reply = mailOver(busy);
    await begun;
    const stopped = own.stop();
    expect(await idle.reply()).toBe('421 4.3.2 this server is stopping; try again');
    finish();
    expect(await reply).toBe('250 2.0.0 queued as 17');
    expect(await busy.reply()).toMatch(/^421 4\.3\.2 /);
    await stopped;
  });
});
