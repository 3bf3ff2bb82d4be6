// The SMTP client gives each message its own verdict, with and without PIPELINING, however replies are cut.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { SmtpOutcome } from '../../../../src/delivery/wire/smtp/contract.ts';
import { authority } from '../../../support/smtp/certificates.ts';
import { conversations, onWire, PIPELINING, submission } from '../../../support/smtp/conversation.ts';
import { cutBefore, everyByte, settle, type Cut, type Peer } from '../../../support/smtp/scripted-server.ts';

const { serve, connect, talk } = conversations();

const accepted = (text: string): SmtpOutcome => ({
  kind: 'accepted',
  reply: { code: 250, enhanced: '2.0.0', text },
});

function refused(stage: string, code: number, connectionLost = false): unknown {
  return { kind: 'refused', stage, reply: expect.objectContaining({ code }), connectionLost };
}

/** A group of commands that the server must receive together. */
function group(n: number): string {
  const { from, to, data } = submission(n);
  return `MAIL FROM:<${from}> SIZE=${(data as Buffer).length}\r\nRCPT TO:<${to}>\r\nDATA\r\n`;
}

describe('messages over a connection with PIPELINING', () => {
  it('are sent in one group each: the next with a final dot, a body only after its own 354', async () => {
    const connection = await talk(async (peer) => {
      await peer.received(group(1).length);
      await settle();
      expect(peer.unread).toBe(group(1));
      await peer.envelope();
      await peer.received(onWire(1).length + group(2).length);
      await settle();
      expect(peer.unread).toBe(onWire(1) + group(2));
      await peer.data();
      await peer.say('250 2.0.0 First', '250 Ok', '250 Ok');
      await settle();
      expect(peer.unread).toBe(group(2));
      for (const command of ['MAIL', 'RCPT', 'DATA']) await peer.expect(command);
      await peer.say('354 Go on');
      await peer.received(onWire(2).length);
      await settle();
      expect(peer.unread).toBe(onWire(2));
      await peer.data();
      await peer.say('250 2.0.0 Second');
      await peer.gone();
    });
    const outcomes = [connection.send(submission(1)), connection.send(submission(2))];
    expect(connection.pending).toBe(2);
    expect(await Promise.all(outcomes)).toEqual([accepted('First'), accepted('Second')]);
    expect(connection.pending).toBe(0);
    expect(connection.open).toBe(true);
  });

  it('are pipelined after a final dot that was written before they were submitted', async () => {
    const connection = await talk(async (peer) => {
      await peer.envelope();
      expect(await peer.data()).toBe(onWire(1));
      second = connection.send(submission(2));
      third = connection.send(submission(3));
      await peer.received(group(2).length);
      await settle();
      expect(peer.unread).toBe(group(2));
      await peer.say('250 2.0.0 First');
      await peer.envelope();
      await peer.data();
      await peer.say('250 2.0.0 Second');
      await peer.envelope();
      await peer.data();
      await peer.say('250 2.0.0 Third');
      await peer.gone();
    });
    let second: Promise<SmtpOutcome> | undefined;
    let third: Promise<SmtpOutcome> | undefined;
    expect(await connection.send(submission(1))).toEqual(accepted('First'));
    expect(await Promise.all([second, third])).toEqual([accepted('Second'), accepted('Third')]);
  });

  it('are dot-stuffed', async () => {
    let data = '';
    const connection = await talk(async (peer) => {
      await peer.envelope();
      data = await peer.data();
      await peer.say('250 Ok');
      await peer.gone();
    });
    await connection.send(submission(1, { data: Buffer.from('.\r\n.a\r\nb.\r\n\r\n.') }));
    expect(data).toBe('..\r\n..a\r\nb.\r\n\r\n..\r\n.\r\n');
  });

  it('have the parameters and UTF-8 addresses that they need', async () => {
    const commands: string[] = [];
    const connection = await talk(async (peer) => {
      commands.push(await peer.expect('MAIL'), await peer.expect('RCPT'));
      await peer.say('550 No', '503 No', '503 No');
      await peer.gone();
    });
    const data = Buffer.from('Subject: ü\r\n\r\nä\r\n');
    await connection.send(submission(1, { to: 'käse@例え.example', smtpUtf8: true, eightBit: true, data }));
    expect(commands).toEqual([
      `MAIL FROM:<bounce+1@example.com> SIZE=${data.length} BODY=8BITMIME SMTPUTF8`,
      'RCPT TO:<käse@例え.example>',
    ]);
  });

  it('are not begun if the server does not support them, and do not affect others', async () => {
    const connection = await talk(async (peer) => {
      await peer.envelope();
      expect(await peer.data()).toBe(onWire(2));
      await peer.say('250 2.0.0 Second');
      await peer.gone();
    });
    const outcomes = await Promise.all([
      connection.send(submission(1, { data: Buffer.alloc(1_000_001, 'a') })),
      connection.send(submission(2)),
      connection.send(submission(3, { to: 'a@example.net>\r\nRSET' })),
    ]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['unsupported', 'accepted', 'not_sent']);
  });
});

describe('a long message', () => {
  const text = randomBytes(300_000).toString('base64').replace(/.{76}/g, '$&\r\n.');
  const long = submission(1, { data: Buffer.from(`Subject: long\r\n\r\n${text}\r\n`) });

  it.each(['none', 'starttls'] as const)('arrives complete, and so does the next (%s)', async (security) => {
    let data = '';
    const server = await serve(async (peer) => {
      await peer.greet('STARTTLS', ...PIPELINING);
      if (security === 'starttls') {
        await peer.expect('STARTTLS');
        await peer.say('220 Go ahead');
        await peer.secure();
        await peer.ehlo(...PIPELINING);
      }
      await peer.envelope();
      data = await peer.data();
      await peer.say('250 2.0.0 First');
      await peer.envelope();
      expect(await peer.data()).toBe(onWire(2));
      await peer.say('250 2.0.0 Second');
      await peer.gone();
    });
    const connection = await connect(server, { security, tls: { ca: authority } });
    const outcomes = await Promise.all([connection.send(long), connection.send(submission(2))]);
    expect(outcomes).toEqual([accepted('First'), accepted('Second')]);
    expect(data.slice(0, -3).replace(/^\./gm, '')).toBe((long.data as Buffer).toString());
  });

  // More than the kernel buffers for a peer that does not read.
  const endless = submission(1, { data: Buffer.alloc(16_000_000, 'a line of text\r\n') });

  /** The server stops reading after its 354, so the final dot cannot have been written yet. */
  async function stalled(script: (peer: Peer) => Promise<void>): ReturnType<typeof connect> {
    const server = await serve(async (peer) => {
      await peer.greet('PIPELINING');
      await peer.envelope();
      peer.pause();
      await settle();
      await script(peer);
    });
    return connect(server);
  }

  it('is refused if the refusal comes before its end, which ends the connection', async () => {
    const connection = await stalled((peer) => peer.say('552 5.3.4 Too long'));
    expect(await Promise.all([connection.send(endless), connection.send(submission(2))])).toEqual([
      refused('body', 552, true),
      { kind: 'not_sent', error: expect.objectContaining({ stage: 'body' }) },
    ]);
    expect(connection.open).toBe(false);
  });

  it('is unsent if the connection ends before its final dot', async () => {
    for (const end of [(peer: Peer) => peer.reset(), (peer: Peer) => peer.destroy()]) {
      const connection = await stalled(async (peer) => end(peer));
      expect(await connection.send(endless)).toMatchObject({ kind: 'not_sent', error: { stage: 'body' } });
    }
  });

  it('is unsent if it is accepted before its end', async () => {
    const connection = await stalled((peer) => peer.say('250 2.0.0 Ok'));
    expect(await connection.send(endless)).toMatchObject({ kind: 'not_sent', error: { violation: true } });
  });
});

describe('messages over a connection without PIPELINING', () => {
  it('are sent command by command', async () => {
    const server = await serve(async (peer) => {
      await peer.greet('8BITMIME');
      for (const n of [1, 2]) {
        for (const [command, reply] of [
          ['MAIL', '250 Ok'],
          ['RCPT', '250 Ok'],
          ['DATA', '354 Ok'],
        ] as const) {
          await peer.expect(command);
          await settle();
          expect(peer.unread).toBe('');
          await peer.say(reply);
        }
        expect(await peer.data()).toBe(onWire(n));
        await settle();
        expect(peer.unread).toBe('');
        await peer.say(`250 2.0.0 ${n}`);
      }
      await peer.gone();
    });
    const connection = await connect(server);
    expect(await Promise.all([connection.send(submission(1)), connection.send(submission(2))])).toEqual([
      accepted('1'),
      accepted('2'),
    ]);
  });

  it.each([
    ['mail', ['MAIL']],
    ['rcpt', ['MAIL', 'RCPT']],
    ['data', ['MAIL', 'RCPT', 'DATA']],
  ] as const)('stop at a refused %s, and RSET comes before the next', async (stage, sequence) => {
    const server = await serve(async (peer) => {
      await peer.greet();
      for (const command of sequence) {
        await peer.expect(command);
        await peer.say(command.toLowerCase() === stage ? '452 4.2.2 No' : '250 Ok');
      }
      await peer.expect('RSET');
      await settle();
      expect(peer.unread).toBe('');
      await peer.say('250 Ok');
      await peer.envelope();
      expect(await peer.data()).toBe(onWire(2));
      await peer.say('250 2.0.0 Second');
      await peer.gone();
    });
    const connection = await connect(server);
    expect(await Promise.all([connection.send(submission(1)), connection.send(submission(2))])).toEqual([
      refused(stage, 452),
      accepted('Second'),
    ]);
  });
});

describe('a refusal', () => {
  /** Replies to the first group, then accepts a second message. @returns the commands in between */
  async function after(
    replies: string[],
    body?: string,
  ): Promise<{ outcomes: unknown[]; commands: string[] }> {
    const server = await serve(async (peer) => {
      await peer.greet(...PIPELINING);
      for (const command of ['MAIL', 'RCPT', 'DATA']) await peer.expect(command);
      await peer.say(...replies);
      if (body !== undefined) {
        expect(await peer.data()).toBe(body === '' ? '.\r\n' : onWire(1));
        await peer.say(body === '' ? '554 5.5.1 No valid recipients' : body);
      }
      const next = await peer.expect('');
      await peer.say('250 Ok');
      if (next === 'RSET') await peer.expect('MAIL').then(() => peer.say('250 Ok'));
      await peer.expect('RCPT');
      await peer.expect('DATA');
      await peer.say('250 Ok', '354 Ok');
      expect(await peer.data()).toBe(onWire(2));
      await peer.say('250 2.0.0 Second');
      await peer.gone();
    });
    const connection = await connect(server);
    const first = connection.send(submission(1));
    // After a body, the next message would be pipelined before the refusal is known.
    if (body !== undefined) await first;
    const outcomes = await Promise.all([first, connection.send(submission(2))]);
    const commands = server.peers[0]?.commands.slice(4).map((command) => command.slice(0, 4)) ?? [];
    return { outcomes, commands };
  }

  it.each([
    ['mail', 550, ['550 No', '503 No MAIL', '503 No RCPT']],
    ['mail', 451, ['451 Later', '250 Whatever', '554 No']],
    ['rcpt', 550, ['250 Ok', '550 5.1.1 No such user', '554 No valid recipients']],
    ['rcpt', 450, ['250 Ok', '450 Later', '503 No']],
    ['data', 451, ['250 Ok', '251 Will forward', '451 Later']],
    ['data', 554, ['250 Ok', '250 Ok', '554 No']],
  ])('of %s with %d is the verdict, and RSET comes before the next message', async (stage, code, replies) => {
    const { outcomes, commands } = await after(replies);
    expect(outcomes).toEqual([refused(stage, code), accepted('Second')]);
    expect(commands).toEqual(['RSET', 'MAIL', 'RCPT', 'DATA']);
  });

  it.each([
    [552, '552 5.3.4 Too big'],
    [451, '451 4.3.0 Later'],
    [554, '554-5.7.1 Spam\r\n554 5.7.1 of the worst kind'],
  ])('of the body with %d is the verdict, and no RSET follows', async (code, reply) => {
    const { outcomes, commands } = await after(['250 Ok', '250 Ok', '354 Ok'], reply);
    expect(outcomes).toEqual([refused('body', code), accepted('Second')]);
    expect(commands).toEqual(['MAIL', 'RCPT', 'DATA']);
  });

  it.each([
    ['rcpt', 550, ['250 Ok', '550 5.1.1 No such user', '354 Go on']],
    ['mail', 552, ['552 No', '250 Ok', '354 Go on']],
  ])('of %s counts even if 354 follows, which gets a dot and no message', async (stage, code, replies) => {
    const { outcomes, commands } = await after(replies, '');
    expect(outcomes).toEqual([refused(stage, code), accepted('Second')]);
    expect(commands).toEqual(['MAIL', 'RCPT', 'DATA']);
  });

  it('counts even if the empty message is then accepted', async () => {
    const connection = await talk(async (peer) => {
      for (const command of ['MAIL', 'RCPT', 'DATA']) await peer.expect(command);
      await peer.say('250 Ok', '550 5.1.1 No such user', '354 Go on');
      expect(await peer.data()).toBe('.\r\n');
      await peer.say('250 2.0.0 Queued');
      await peer.gone();
    });
    expect(await connection.send(submission(1))).toEqual(refused('rcpt', 550));
  });
});

describe('a session', () => {
  const sequence: (peer: Peer) => Promise<void> = async (peer) => {
    await peer.say('220-One', '220 Two');
    await peer.ehlo(...PIPELINING);
    await peer.envelope();
    await peer.data();
    await peer.say('250-2.0.0 First', '250 2.0.0 of all');
    for (const command of ['MAIL', 'RCPT', 'DATA']) await peer.expect(command);
    await peer.say('250 Ok', '550-5.1.1 No such', '550 5.1.1 user', '554 5.5.1 No valid recipients');
    await peer.expect('RSET');
    await peer.say('250 Ok');
    for (const command of ['MAIL', 'RCPT', 'DATA']) await peer.expect(command);
    await peer.say('250 Ok', '550 5.2.1 Disabled', '354 Go on');
    expect(await peer.data()).toBe('.\r\n');
    await peer.say('554 5.5.1 No valid recipients');
    await peer.envelope();
    await peer.data();
    await peer.say('554 5.7.1 Spam');
    await peer.envelope();
    await peer.data();
    await peer.say('250 2.0.0 Last');
    await peer.expect('QUIT');
    await peer.say('221 Bye');
    await peer.gone();
  };

  const outcomes = [
    accepted('First\nof all'),
    { ...(refused('rcpt', 550) as object), reply: { code: 550, enhanced: '5.1.1', text: 'No such\nuser' } },
    { ...(refused('rcpt', 550) as object), reply: { code: 550, enhanced: '5.2.1', text: 'Disabled' } },
    { ...(refused('body', 554) as object), reply: { code: 554, enhanced: '5.7.1', text: 'Spam' } },
    accepted('Last'),
  ];

  async function run(cut?: Cut): Promise<number> {
    const server = await serve(sequence, cut);
    const connection = await connect(server);
    const sent = [1, 2, 3, 4, 5].map((n) => connection.send(submission(n)));
    expect(await Promise.all(sent)).toEqual(outcomes);
    let closed: unknown = 'not called';
    connection.onClose((error) => (closed = error));
    await connection.quit();
    expect(closed).toBeNull();
    return server.peers[0]?.written ?? 0;
  }

  it('is the same whether replies arrive whole, byte by byte, or cut before any byte', async () => {
    const length = await run();
    expect(length).toBeGreaterThan(400);
    await run(everyByte);
    for (let at = 1; at < length; at++) await run(cutBefore(at));
  });
});
