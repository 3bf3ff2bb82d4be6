// The SMTP handshake fails on bad replies, injected text and wrong certificates, and never hangs.
import { describe, expect, it } from '@jest/globals';
import { SmtpConnectionError } from '../../../../src/delivery/wire/smtp/connection-error.ts';
import type { SmtpTarget } from '../../../../src/delivery/wire/smtp/contract.ts';
import { authority, otherCertificate, serverCertificate } from '../../../support/smtp/certificates.ts';
import { conversations, PIPELINING, submission } from '../../../support/smtp/conversation.ts';
import type { Peer, Script } from '../../../support/smtp/scripted-server.ts';

const { serve, connect } = conversations();

const starttls = { security: 'starttls', tls: { ca: authority } } as const;
const auth = { user: 'user', pass: 'päss' };
const plaintextAuth = { auth, allowPlaintextAuth: true };
const plainResponse = Buffer.from('\0user\0päss').toString('base64');

async function failure(script: Script, target: Partial<SmtpTarget> = {}): Promise<SmtpConnectionError> {
  const server = await serve(script);
  const result = await connect(server, target).catch((error: unknown) => error);
  if (result instanceof SmtpConnectionError) return result;
  throw new Error(`no connection error: ${String(result)}`);
}

async function secured(peer: Peer, certificate = serverCertificate): Promise<void> {
  await peer.greet('STARTTLS', 'AUTH LOGIN');
  await peer.expect('STARTTLS');
  await peer.say('220 Go ahead');
  await peer.secure(certificate);
}

describe('a handshake', () => {
  it('reports what EHLO offers', async () => {
    const server = await serve(async (peer) => {
      await peer.greet('pipelining', 'SIZE 52428800', '8BITMIME', 'DSN', 'VRFY', 'X-OTHER 1 2');
      await peer.gone();
    });
    const { capabilities } = await connect(server);
    expect(capabilities).toEqual({
      pipelining: true,
      size: 52428800,
      smtpUtf8: false,
      eightBitMime: true,
      dsn: true,
    });
    expect(server.peers[0]?.commands).toEqual(['EHLO client.invalid']);
  });

  it('treats SIZE without a number, or with 0, as no limit', async () => {
    const sizes: (number | null)[] = [];
    for (const keyword of ['SIZE', 'SIZE 0', 'SIZE x', 'DSN']) {
      const server = await serve(async (peer) => {
        await peer.greet(keyword);
        await peer.gone();
      });
      sizes.push((await connect(server)).capabilities.size);
    }
    expect(sizes).toEqual([0, 0, 0, null]);
  });

  it('needs a client name that cannot break out of its command', async () => {
    const server = await serve((peer) => peer.gone());
    for (const clientName of ['', 'a\r\nMAIL FROM:<>', 'a b']) {
      await expect(connect(server, { clientName })).rejects.toMatchObject({ stage: 'ehlo' });
    }
    expect(server.peers).toHaveLength(0);
  });

  it('resolves the host with the given function', async () => {
    const server = await serve((peer) => peer.greet().then(() => peer.gone()));
    const { connectSmtp } = await import('../../../../src/delivery/wire/smtp/client.ts');
    const names: string[] = [];
    const target: SmtpTarget = { host: 'mail.test', port: server.port, security: 'none', clientName: 'a' };
    const connection = await connectSmtp(target, {
      lookup: (name, options, callback) => {
        names.push(name);
        if (options.all) callback(null, [{ address: '127.0.0.1', family: 4 }]);
        else callback(null, '127.0.0.1', 4);
      },
    });
    connection.destroy();
    expect(names).toEqual(['mail.test']);
  });

  it.each([421, 450, 500, 554])('fails if the greeting is %d', async (code) => {
    const error = await failure((peer) => peer.say(`${code} 5.7.1 Go away`));
    expect(error).toMatchObject({ stage: 'banner', reply: { code, enhanced: '5.7.1', text: 'Go away' } });
  });

  it.each([421, 502])('fails if the reply to EHLO is %d', async (code) => {
    const error = await failure(async (peer) => {
      await peer.say('220 Hello');
      await peer.expect('EHLO');
      await peer.say(`${code} No`);
    });
    expect(error).toMatchObject({ stage: 'ehlo', reply: { code } });
  });

  it('fails if the server sends more before a command', async () => {
    const error = await failure((peer) => peer.say('220 Hello', '250 Already'));
    expect(error).toMatchObject({ stage: 'banner', violation: true });
  });

  it('fails if the server is not a mail server', async () => {
    const error = await failure((peer) => peer.say('SSH-2.0-OpenSSH_9.9'));
    expect(error).toMatchObject({ stage: 'banner', message: expect.stringContaining('SSH-2.0') });
  });

  it.each([
    ['banner', (peer: Peer) => peer.close()],
    ['ehlo', (peer: Peer) => peer.say('220 Hello').then(() => peer.close())],
  ])('fails if the server closes without a %s', async (stage, script) => {
    expect(await failure(script)).toMatchObject({ stage, message: 'the server closed the connection' });
  });

  it('fails if no server listens', async () => {
    const server = await serve(async () => undefined);
    await server.close();
    await expect(connect(server)).rejects.toMatchObject({ stage: 'connect', name: 'SmtpConnectionError' });
  });

  it.each([
    ['banner', async () => undefined],
    ['ehlo', (peer: Peer) => peer.say('220 Hello')],
    [
      'ehlo',
      (peer: Peer) =>
        peer
          .say('220 Hello')
          .then(() => peer.expect('EHLO'))
          .then(() => peer.raw('250-One\r\n250-Tw')),
    ],
  ])('fails if the %s does not come within the time-out', async (stage, script) => {
    const error = await failure((peer) => script(peer).then(() => peer.gone()), { replyTimeoutMs: 1_000 });
    expect(error).toMatchObject({ stage, message: 'reply timed out' });
  });

  it('fails at the time-out even if the server writes a byte now and then', async () => {
    const error = await failure(
      async (peer) => {
        await peer.raw('220');
        while (!peer.ended) {
          await peer.raw('-');
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
      },
      { replyTimeoutMs: 1_000 },
    );
    expect(error).toMatchObject({ stage: 'banner', message: 'reply timed out' });
  });

  it('ends an endless reply', async () => {
    const error = await failure(async (peer) => {
      await peer.say('220 Hello');
      await peer.expect('EHLO');
      while (!peer.ended)
        await peer.raw('250-X'.padEnd(1022, 'x') + '\r\n').then(() => new Promise(setImmediate));
    });
    expect(error).toMatchObject({ stage: 'ehlo', message: expect.stringContaining('64 KiB') });
  });
});

describe('TLS', () => {
  it('starts with STARTTLS, and ignores the capabilities from before', async () => {
    const server = await serve(async (peer) => {
      await peer.greet('STARTTLS', ...PIPELINING);
      await peer.expect('STARTTLS');
      await peer.say('220 Go ahead');
      await peer.secure();
      await peer.ehlo('SIZE 7');
      await peer.expect('MAIL');
      await peer.say('550 No');
      await peer.gone();
    });
    const connection = await connect(server, starttls);
    expect(connection.capabilities).toMatchObject({ pipelining: false, size: 7, smtpUtf8: false });
    expect(await connection.send(submission(1, { data: Buffer.from('a\r\n') }))).toMatchObject({
      kind: 'refused',
    });
    expect(server.peers[0]?.commands.slice(0, 3)).toEqual([
      'EHLO client.invalid',
      'STARTTLS',
      'EHLO client.invalid',
    ]);
  });

  it('starts with the first byte in implicit mode', async () => {
    const server = await serve(async (peer) => {
      await peer.secure();
      await peer.greet('AUTH PLAIN');
      await peer.expect('AUTH PLAIN');
      await peer.say('235 Welcome');
      await peer.gone();
    });
    const connection = await connect(server, { security: 'implicit', tls: { ca: authority }, auth });
    expect(connection.open).toBe(true);
    expect(server.peers[0]?.commands).toEqual(['EHLO client.invalid', `AUTH PLAIN ${plainResponse}`]);
  });

  it('is used if and only if it is offered, in opportunistic mode', async () => {
    const commands: (string[] | undefined)[] = [];
    for (const offered of [true, false]) {
      const server = await serve(async (peer) => {
        if (!offered) await peer.greet();
        else await secured(peer).then(() => peer.ehlo());
        await peer.gone();
      });
      await connect(server, { ...starttls, security: 'opportunistic' });
      commands.push(server.peers[0]?.commands);
    }
    expect(commands).toEqual([
      ['EHLO client.invalid', 'STARTTLS', 'EHLO client.invalid'],
      ['EHLO client.invalid'],
    ]);
  });

  it('fails if it is required and the server does not offer it', async () => {
    const error = await failure((peer) => peer.greet('AUTH PLAIN').then(() => peer.gone()), {
      ...starttls,
      auth,
    });
    expect(error).toMatchObject({ stage: 'starttls', message: 'the server does not offer STARTTLS' });
  });

  it.each([
    ['in the reply to STARTTLS', 'starttls', '220 Go ahead\r\n250 injected\r\n'],
    ['cut off in the reply to STARTTLS', 'starttls', '220 Go ahead\r\n25'],
    ['before the reply to STARTTLS', 'starttls', '250 injected\r\n220 Go ahead\r\n'],
  ])('fails on clear-text bytes %s', async (_, stage, text) => {
    const error = await failure(async (peer) => {
      await peer.greet('STARTTLS');
      await peer.expect('STARTTLS');
      await peer.raw(text);
      await peer.gone();
      expect(peer.unread).toBe('');
    }, starttls);
    expect(error).toMatchObject({ stage });
  });

  it('fails on clear-text bytes after the reply to STARTTLS, because they are not TLS records', async () => {
    const error = await failure(async (peer) => {
      await peer.greet('STARTTLS');
      await peer.expect('STARTTLS');
      await peer.say('220 Go ahead');
      await peer.received(50);
      await peer.say('250 injected');
      await peer.gone();
    }, starttls);
    expect(error).toMatchObject({
      stage: 'starttls',
      message: expect.stringMatching(/wrong version|packet length/),
    });
  });

  it.each([421, 454, 501])('fails if the reply to STARTTLS is %d, even if opportunistic', async (code) => {
    const script: Script = async (peer) => {
      await peer.greet('STARTTLS');
      await peer.expect('STARTTLS');
      await peer.say(`${code} No TLS today`);
    };
    expect(await failure(script, starttls)).toMatchObject({ stage: 'starttls', reply: { code } });
    const passing = { ...starttls, security: 'opportunistic' } as const;
    expect(await failure(script, passing)).toMatchObject({ stage: 'starttls', reply: { code } });
  });

  it.each([
    ['for another name', otherCertificate, { ca: authority }, /IP|altnames/],
    ['from an unknown authority', serverCertificate, {}, /verify|issuer|certificate/],
    [
      'for the host but not for the given name',
      serverCertificate,
      { ca: authority, servername: 'mail.example' },
      /altnames/,
    ],
  ])('fails on a certificate %s in every mode', async (_, certificate, tls, message) => {
    const wrong = { message: expect.stringMatching(message) };
    for (const security of ['starttls', 'opportunistic'] as const) {
      const error = await failure((peer) => secured(peer, certificate).then(() => peer.gone()), {
        security,
        tls,
      });
      expect(error).toMatchObject({ stage: 'starttls', ...wrong });
    }
    const implicit = await failure((peer) => peer.secure(certificate).then(() => peer.gone()), {
      security: 'implicit',
      tls,
    });
    expect(implicit).toMatchObject({ stage: 'connect', ...wrong });
  });

  it('verifies the given name instead of the host', async () => {
    const server = await serve((peer) =>
      secured(peer, otherCertificate)
        .then(() => peer.ehlo())
        .then(() => peer.gone()),
    );
    const connection = await connect(server, {
      security: 'starttls',
      tls: { ca: authority, servername: 'other.example' },
    });
    expect(connection.open).toBe(true);
  });

  it.each([
    ['starttls', 'starttls'],
    ['connect', 'implicit'],
  ] as const)('fails at %s if the server does not complete the handshake', async (stage, security) => {
    const silent = await failure(
      async (peer) => {
        if (security === 'starttls') {
          await peer.greet('STARTTLS');
          await peer.expect('STARTTLS');
          await peer.say('220 Go ahead');
        }
        await peer.gone();
      },
      { security, connectTimeoutMs: 1_000 },
    );
    expect(silent).toMatchObject({ stage, message: 'connection timed out' });
    const closing = await failure(
      async (peer) => {
        if (security === 'starttls') {
          await peer.greet('STARTTLS');
          await peer.expect('STARTTLS');
          await peer.say('220 Go ahead');
        }
        await peer.received(50);
        peer.destroy();
      },
      { security },
    );
    expect(closing).toMatchObject({ stage });
  });
});

describe('authentication', () => {
  it.each([
    ['PLAIN', 'AUTH LOGIN PLAIN'],
    ['PLAIN', 'AUTH=LOGIN PLAIN'],
    ['PLAIN', 'auth cram-md5 plain'],
  ])('is %s if EHLO offers "%s"', async (_, keyword) => {
    const server = await serve(async (peer) => {
      await peer.greet(keyword);
      await peer.expect('AUTH PLAIN');
      await peer.say('235 2.7.0 Welcome');
      await peer.gone();
    });
    await connect(server, plaintextAuth);
    expect(server.peers[0]?.commands[1]).toBe(`AUTH PLAIN ${plainResponse}`);
  });

  it('is LOGIN if PLAIN is not offered', async () => {
    const server = await serve(async (peer) => {
      await peer.greet('AUTH CRAM-MD5 LOGIN');
      for (const reply of ['334 VXNlcm5hbWU6', '334 UGFzc3dvcmQ6', '235 Welcome']) {
        await peer.expect('');
        await peer.say(reply);
      }
      await peer.gone();
    });
    await connect(server, plaintextAuth);
    expect(server.peers[0]?.commands.slice(1)).toEqual([
      'AUTH LOGIN',
      Buffer.from('user').toString('base64'),
      Buffer.from('päss').toString('base64'),
    ]);
  });

  it('sends credentials after a 334 if they do not fit into the command', async () => {
    const pass = 'p'.repeat(600);
    const server = await serve(async (peer) => {
      await peer.greet('AUTH PLAIN');
      await peer.expect('AUTH PLAIN');
      await peer.say('334 ');
      await peer.expect('');
      await peer.say('235 Welcome');
      await peer.gone();
    });
    await connect(server, { ...plaintextAuth, auth: { user: 'user', pass } });
    expect(server.peers[0]?.commands.slice(1)).toEqual([
      'AUTH PLAIN',
      Buffer.from(`\0user\0${pass}`).toString('base64'),
    ]);
  });

  it.each([421, 454, 535, 334, 250])(
    'fails if the reply is %d, with an error that does not contain the credentials',
    async (code) => {
      const error = await failure(async (peer) => {
        await peer.greet('AUTH PLAIN');
        await peer.expect('AUTH PLAIN');
        await peer.say(`${code} 5.7.8 No`);
        await peer.gone();
      }, plaintextAuth);
      expect(error).toMatchObject({ stage: 'auth', reply: { code } });
      expect(`${error.message} ${JSON.stringify(error)}`).not.toContain(plainResponse);
    },
  );

  it.each([[[]], [['AUTH CRAM-MD5']]])('fails if EHLO offers only %j', async (keywords) => {
    const error = await failure((peer) => peer.greet(...keywords).then(() => peer.gone()), plaintextAuth);
    expect(error).toMatchObject({
      stage: 'auth',
      message: expect.stringContaining('PLAIN or LOGIN is needed'),
    });
  });

  it.each(['none', 'opportunistic'] as const)('sends nothing in clear text (%s)', async (security) => {
    const error = await failure(
      async (peer) => {
        await peer.greet('AUTH PLAIN LOGIN');
        await peer.gone();
        expect(peer.unread).toBe('');
      },
      { security, auth },
    );
    expect(error).toMatchObject({ stage: 'auth', message: 'credentials are not sent without TLS' });
  });

  it('fails if the server sends more after its reply', async () => {
    const error = await failure(async (peer) => {
      await peer.greet('AUTH PLAIN');
      await peer.expect('AUTH PLAIN');
      await peer.say('235 Welcome', '250 And more');
      await peer.gone();
    }, plaintextAuth);
    expect(error).toMatchObject({ stage: 'auth', violation: true });
  });
});
