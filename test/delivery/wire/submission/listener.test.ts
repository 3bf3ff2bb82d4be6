// The port for submission takes mail only after a login with a live API key over TLS, and whole mails only.
import { once } from 'node:events';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { openTlsFiles } from '../../../../src/delivery/wire/listening/tls-files.ts';
import { AppError } from '../../../../src/errors.ts';
import { createApiKey, revokeApiKey } from '../../../../src/features/api-keys/service.ts';
import { generateKey } from '../../../../src/platform/auth/api-key.ts';
import { eventually } from '../../../support/eventually.ts';
import { startDialogue, startTlsDialogue } from '../../../support/smtp-dialogue.ts';
import {
  certificates,
  findKeyIn,
  logIn,
  mailOver,
  plainLogin,
  startTestSubmission,
} from '../../../support/submission.ts';
import { useSubmission } from '../../../support/use-submission.ts';

const stage = useSubmission();
const { start, loggedIn } = stage;

const featuresIn = (reply: string) =>
  reply
    .split('\r\n')
    .slice(1)
    .map((line) => line.slice(4));

describe('logins', () => {
  it('are offered only over TLS', async () => {
    const client = await startDialogue(stage.submission.port);
    const inClear = featuresIn(await client.say('EHLO app.example.com'));
    expect(inClear).toEqual(['PIPELINING', '8BITMIME', 'SMTPUTF8', 'STARTTLS', 'SIZE 26214400']);
    await client.say('STARTTLS');
    await client.secure();
    const overTls = ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'AUTH PLAIN LOGIN', 'SIZE 26214400'];
    expect(featuresIn(await client.say('EHLO app.example.com'))).toEqual(overTls);
    expect(await client.say(`AUTH PLAIN ${plainLogin(stage.tenant.apiKey)}`)).toMatch(/^235 /);
    expect(await mailOver(client)).toBe('250 2.0.0 queued as 1');
    const direct = await startTlsDialogue(stage.submission.tlsPort);
    expect(featuresIn(await direct.say('EHLO app.example.com'))).toEqual(overTls);
  });

  it('are required of every command, also where the library does not ask', async () => {
    const login = `AUTH PLAIN ${plainLogin(stage.tenant.apiKey)}`;
    const commands = [
      login,
      'AUTH LOGIN',
      'MAIL FROM:<ann@example.com>',
      'RCPT TO:<bob@example.net>',
      'DATA',
    ];
    const inClear = await startDialogue(stage.submission.port);
    await inClear.say('EHLO app.example.com');
    const replies: string[] = [];
    for (const command of commands) replies.push(await inClear.say(command));
    expect(replies.map((reply) => reply.slice(0, 3))).toEqual(['500', '500', '530', '503', '503']);
    expect(replies[2]).toBe('530 5.7.0 Must issue a STARTTLS command first');

    const overTls = await startTlsDialogue(stage.submission.tlsPort);
    await overTls.say('EHLO app.example.com');
    for (const command of commands.slice(2)) expect(await overTls.say(command)).toMatch(/^530 /);
    for (const joke of ['WIZ', 'SHELL', 'KILL', 'XCLIENT ADDR=192.0.2.1', 'XFORWARD ADDR=192.0.2.1'])
      expect(await overTls.say(joke)).toMatch(/^5/);
    expect(stage.submission.taken).toEqual([]);
  });

  it('in clear are taken from programs of this machine only, and only if the setting allows them', async () => {
    const local = await start({ clearLogins: true, tls: null });
    const client = await startDialogue(local.port);
    expect(featuresIn(await client.say('EHLO app.example.com'))).toContain('AUTH PLAIN LOGIN');
    expect(await client.say('STARTTLS')).toMatch(/^500 /);
    expect(await client.say(`AUTH PLAIN ${plainLogin(stage.tenant.apiKey)}`)).toMatch(/^235 /);
    expect(await mailOver(client)).toMatch(/^250 /);
    for (const options of [
      { clearLogins: false, tls: null },
      { clearLogins: true, trustedProxies: ['192.0.2.200'] },
      { clearLogins: true, host: '0.0.0.0' },
    ]) {
      const { port } = await start(options);
      const refused = await startDialogue(port);
      expect(await refused.say('EHLO app.example.com')).not.toContain('AUTH');
      expect(await refused.say(`AUTH PLAIN ${plainLogin(stage.tenant.apiKey)}`)).toMatch(/^500 /);
      expect(await refused.say('MAIL FROM:<ann@example.com>')).toMatch(/^530 5\.7\.0 /);
    }
  });

  it('take an API key as the password, with any user name', async () => {
    const client = await startTlsDialogue(stage.submission.tlsPort);
    await client.say('EHLO app.example.com');
    const unknown = generateKey('live').key;
    const attempt = (password: string) => client.say(`AUTH PLAIN ${plainLogin(password, 'someone')}`);
    expect(await attempt('swordfish')).toBe('535 5.7.8 the password must be an API key');
    expect(await attempt(unknown)).toBe('535 5.7.8 the API key is unknown or revoked');
    expect(await client.say('AUTH LOGIN')).toMatch(/^334 /);
    expect(await client.say(Buffer.from('user').toString('base64'))).toMatch(/^334 /);
    expect(await client.say(Buffer.from(stage.tenant.apiKey).toString('base64'))).toMatch(/^235 /);
  });

  it('look up an unknown key once a minute, and hang up at the tenth failure of a connection', async () => {
    const asked: string[] = [];
    const find = findKeyIn(stage.test.database.pool);
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

  it('of one program over many new connections at once are one login', async () => {
    const own = await start({});
    const clients = await Promise.all(Array.from({ length: 40 }, () => startTlsDialogue(own.tlsPort)));
    const replies = await Promise.all(clients.map((client) => logIn(client, stage.tenant.apiKey)));
    for (const { socket } of clients) socket.destroy();
    expect(replies.map((reply) => reply.slice(0, 3))).toEqual(clients.map(() => '235'));
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
    expect(await guess([stage.tenant.apiKey])).toEqual(['235 Authe']);
    // Now it guesses keys, with their checksums.
    const newKey = () => generateKey('live').key;
    const keys = (await Promise.all(many(3, newKey).map(() => guess(many(9, newKey))))).flat();
    expect(keys.filter((reply) => reply === '454 4.7.0')).toHaveLength(7);
    expect(await guess([stage.tenant.apiKey])).toEqual(['235 Authe']);
  });

  it('are refused for now while the database is away', async () => {
    const findKey = () => Promise.reject(new AppError('unavailable', 'the key cannot be checked right now'));
    const { tlsPort } = await start({ findKey });
    const client = await startTlsDialogue(tlsPort);
    for (let more = 0; more < 9; more += 1)
      expect(await logIn(client, stage.tenant.apiKey)).toMatch(/^454 4\.3\.0 /);
  });

  it('end when the key is revoked: the next mail is refused, and the connection closed', async () => {
    const { key, apiKey } = await createApiKey(stage.test.database.pool, {
      accountId: stage.tenant.accountId,
    });
    const client = await loggedIn(stage.submission, key);
    expect(await mailOver(client)).toMatch(/^250 /);
    await revokeApiKey(stage.test.database.pool, apiKey.id);
    expect(await client.say('MAIL FROM:<ann@example.com>')).toBe(
      '535 5.7.8 the API key is unknown or revoked',
    );
    await once(client.socket, 'close');
  });
});

describe('STARTTLS', () => {
  it('drops what was sent before it', async () => {
    const client = await startDialogue(stage.submission.port);
    await client.say('EHLO app.example.com');
    // What follows STARTTLS in one packet would otherwise run in the session that TLS protects.
    client.socket.write(
      `STARTTLS\r\nEHLO evil.example\r\nAUTH PLAIN ${plainLogin(stage.tenant.apiKey)}\r\nNOOP\r\n`,
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

    const strange = await startDialogue(stage.submission.port);
    expect(await strange.say('PROXY TCP4 198.51.100.7 192.0.2.200 4000 587')).toMatch(/^500 /);
  });

  it('are told to come back when the server stops, once their mail has its reply', async () => {
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: finished, resolve: finish } = Promise.withResolvers<void>();
    const own = await startTestSubmission(stage.test.database.pool, {
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
