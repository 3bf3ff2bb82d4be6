// The SMTP client works with real servers: TLS, authentication, UTF-8, refusals and lost connections.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import net, { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import { connectSmtp } from '../../../../src/delivery/wire/smtp/client.ts';
import type { SmtpConnection, SmtpTarget } from '../../../../src/delivery/wire/smtp/contract.ts';
import { authority, serverCertificate } from '../../../support/smtp/certificates.ts';
import { loopback, submission } from '../../../support/smtp/conversation.ts';
import { testsThatNeed } from '../../../support/tests-that-need.ts';
import { findSmtpSink } from '../../../support/tools.ts';

const COUNT = 120;
const dotted = (n: number): Buffer => Buffer.from(`Subject: ${n}\r\n\r\n.\r\n..two\r\n.${n}\r\n`);

/** Hands over this many messages at once, each with lines that begin with dots. */
async function sendMany(connection: SmtpConnection): Promise<Set<string>> {
  const sent = Array.from({ length: COUNT }, (_, n) => connection.send(submission(n, { data: dotted(n) })));
  return new Set((await Promise.all(sent)).map(({ kind }) => kind));
}

describe('smtp-server', () => {
  interface Received {
    from: string;
    to: string[];
    text: string;
    user: unknown;
    secure: boolean;
  }
  let server: SMTPServer | undefined;
  let received: Received[] = [];

  afterEach(async () => {
    await new Promise<void>((resolve) => (server ? server.close(resolve) : resolve()));
    server = undefined;
  });

  async function start(options: SMTPServerOptions): Promise<number> {
    received = [];
    server = new SMTPServer({
      ...serverCertificate,
      authOptional: true,
      onAuth: (auth, _, callback) => {
        if (auth.username === 'user' && auth.password === 'päss') callback(null, { user: auth.username });
        else callback(new Error('Invalid credentials'));
      },
      onRcptTo: ({ address }, _, callback) => {
        if (!address.startsWith('nobody')) return callback();
        callback(Object.assign(new Error('5.1.1 No such user'), { responseCode: 550 }));
      },
      onData: (stream, session, callback) => {
        const chunks: Buffer[] = [];
        stream.on('data', (chunk: Buffer) => chunks.push(chunk));
        stream.on('end', () => {
          const { mailFrom, rcptTo } = session.envelope;
          received.push({
            from: mailFrom === false ? '' : mailFrom.address,
            to: rcptTo.map(({ address }) => address),
            text: Buffer.concat(chunks).toString(),
            user: session.user,
            secure: session.secure,
          });
          callback();
        });
      },
      ...options,
    });
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(0, '127.0.0.1', resolve);
    await promise;
    return (server.server.address() as AddressInfo).port;
  }

  it.each<[string, SMTPServerOptions, Partial<SmtpTarget>]>([
    ['in clear', { disabledCommands: ['STARTTLS'] }, {}],
    ['without pipelining', { hidePIPELINING: true }, {}],
    ['by STARTTLS with PLAIN', {}, { security: 'starttls', auth: { user: 'user', pass: 'päss' } }],
    [
      'by STARTTLS with LOGIN',
      { authMethods: ['LOGIN'] },
      { security: 'opportunistic', auth: { user: 'user', pass: 'päss' } },
    ],
    ['by implicit TLS', { secure: true }, { security: 'implicit', auth: { user: 'user', pass: 'päss' } }],
  ])('accepts messages %s', async (_, options, target) => {
    const port = await start(options);
    const connection = await connectSmtp({ ...loopback(port), tls: { ca: authority }, ...target });
    expect(connection.capabilities.pipelining).toBe(options.hidePIPELINING !== true);
    expect(await sendMany(connection)).toEqual(new Set(['accepted']));
    await connection.quit();
    expect(received).toEqual(
      Array.from({ length: COUNT }, (__, n) => ({
        from: `bounce+${n}@example.com`,
        to: [`recipient${n}@example.net`],
        text: dotted(n).toString(),
        user: target.auth?.user,
        secure: target.security !== undefined,
      })),
    );
  });

  it('refuses a recipient and accepts those before and after it', async () => {
    const port = await start({ disabledCommands: ['STARTTLS'] });
    const connection = await connectSmtp(loopback(port));
    const outcomes = await Promise.all([
      connection.send(submission(1)),
      connection.send(submission(2, { to: 'nobody@example.net' })),
      connection.send(submission(3, { to: 'nobody@example.net' })),
      connection.send(submission(4)),
    ]);
    await connection.quit();
    const refused = {
      kind: 'refused',
      stage: 'rcpt',
      reply: { code: 550, enhanced: '5.1.1' },
      connectionLost: false,
    };
    expect(outcomes).toMatchObject([{ kind: 'accepted' }, refused, refused, { kind: 'accepted' }]);
    expect(received.map(({ to }) => to[0])).toEqual(['recipient1@example.net', 'recipient4@example.net']);
  });

  it('accepts UTF-8 addresses and a message of the declared size', async () => {
    const port = await start({ disabledCommands: ['STARTTLS'], size: 400_000 });
    const connection = await connectSmtp(loopback(port));
    const data = Buffer.from(`Subject: ü\r\n\r\n${'Käse\r\n'.repeat(30_000)}`);
    const utf8 = { smtpUtf8: true, eightBit: true, to: 'käse@example.net', data };
    expect(await connection.send(submission(1, utf8))).toMatchObject({ kind: 'accepted' });
    const longer = Buffer.concat([data, data]);
    expect(await connection.send(submission(2, { ...utf8, data: longer }))).toMatchObject({
      kind: 'unsupported',
      capability: 'size',
    });
    await connection.quit();
    expect(received).toMatchObject([{ to: ['käse@example.net'], text: data.toString() }]);
  });

  it('refuses wrong credentials', async () => {
    const port = await start({});
    const target: SmtpTarget = { ...loopback(port), security: 'starttls', tls: { ca: authority } };
    await expect(connectSmtp({ ...target, auth: { user: 'user', pass: 'wrong' } })).rejects.toMatchObject({
      stage: 'auth',
      reply: { code: 535 },
    });
  });
});

testsThatNeed('smtp-sink').describe("Postfix's smtp-sink", () => {
  const sink = findSmtpSink();
  let child: ChildProcess | undefined;
  let folder = '';

  afterEach(async () => {
    if (child && child.exitCode === null) {
      const ended = new Promise((resolve) => child?.once('exit', resolve));
      child.kill();
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  });

  /** Starts smtp-sink with these options. Resolves when it listens. */
  async function start(...options: string[]): Promise<number> {
    folder = mkdtempSync(join(tmpdir(), 'carillon-sink-'));
    const port = await freePort();
    const user = process.getuid?.() === 0 ? ['-u', 'root'] : [];
    const args = [...user, '-d', 'mail.', ...options, `inet:127.0.0.1:${port}`, '100'];
    child = spawn(sink ?? '', args, { cwd: folder, stdio: 'ignore' });
    await until(() => reachable(port));
    return port;
  }

  /** Envelope and text of each stored message. */
  function kept(): string[] {
    return readdirSync(folder).map((name) =>
      readFileSync(join(folder, name), 'utf8').replaceAll('\r\n', '\n'),
    );
  }

  it.each([
    ['with pipelining', []],
    ['without pipelining', ['-p']],
  ])('accepts messages %s', async (_, options) => {
    const connection = await connectSmtp(loopback(await start(...options)));
    expect(connection.capabilities.pipelining).toBe(options.length === 0);
    expect(await sendMany(connection)).toEqual(new Set(['accepted']));
    await connection.quit();
    const messages = kept();
    expect(messages).toHaveLength(COUNT);
    for (let n = 0; n < COUNT; n++) {
      const mine = messages.filter((message) =>
        message.includes(`X-Rcpt-Args: <recipient${n}@example.net>\n`),
      );
      expect(mine).toHaveLength(1);
      expect(mine[0]).toContain(`X-Mail-Args: <bounce+${n}@example.com>`);
      expect(mine[0]).toContain(dotted(n).toString().replaceAll('\r\n', '\n'));
    }
  });

  it.each([
    ['mail', 'mail', 500],
    ['rcpt', 'rcpt', 500],
    ['data', 'data', 500],
    ['body', '.', 500],
  ])('refuses at %s', async (stage, command, code) => {
    const connection = await connectSmtp(loopback(await start('-f', command)));
    const outcomes = await Promise.all([1, 2, 3].map((n) => connection.send(submission(n))));
    const refused = { kind: 'refused', stage, reply: { code }, connectionLost: false };
    expect(outcomes).toMatchObject([refused, refused, refused]);
    await connection.quit();
  });

  it('closes the connection after a final dot', async () => {
    const connection = await connectSmtp(loopback(await start('-q', '.')));
    const outcomes = await Promise.all([1, 2].map((n) => connection.send(submission(n))));
    expect(outcomes.map(({ kind }) => kind)).toEqual(['ambiguous', 'not_sent']);
  });
});

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function reachable(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false));
    socket.on('close', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}

async function until(ready: () => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000;
  while (!(await ready())) {
    if (Date.now() > deadline) throw new Error('smtp-sink does not listen');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
