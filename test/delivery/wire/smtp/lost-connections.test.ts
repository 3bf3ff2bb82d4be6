// If an SMTP connection fails, only a message whose final dot was sent is ambiguous.
import { describe, expect, it } from '@jest/globals';
import type { SmtpConnectionError } from '../../../../src/delivery/wire/smtp/connection-error.ts';
import type { SmtpConnection } from '../../../../src/delivery/wire/smtp/contract.ts';
import { conversations, onWire, PIPELINING, submission } from '../../../support/smtp/conversation.ts';
import { settle, type Peer } from '../../../support/smtp/scripted-server.ts';

const { serve, connect, talk } = conversations();

const accepted = { kind: 'accepted' };
const ambiguous = (stage = 'body'): unknown => ({ kind: 'ambiguous', error: { stage } });
const notSent = (stage: string): unknown => ({ kind: 'not_sent', error: { stage } });

function refused(stage: string, code: number): unknown {
  return { kind: 'refused', stage, reply: { code }, connectionLost: true };
}

/** Hands over three messages at once. */
async function three(script: (peer: Peer) => Promise<unknown>, timeouts = {}): Promise<unknown[]> {
  const connection = await talk(async (peer) => {
    await script(peer);
    await peer.gone();
  }, timeouts);
  const outcomes = await Promise.all([1, 2, 3].map((n) => connection.send(submission(n))));
  expect(connection.open).toBe(false);
  expect(connection.pending).toBe(0);
  expect(await connection.send(submission(4))).toMatchObject({ kind: 'not_sent' });
  return outcomes;
}

async function commands(peer: Peer): Promise<void> {
  for (const command of ['MAIL', 'RCPT', 'DATA']) await peer.expect(command);
}

/** Reads everything up to the final dot of the first message, and the commands of the second message after it. */
async function firstWritten(peer: Peer): Promise<void> {
  await peer.envelope();
  expect(await peer.data()).toBe(onWire(1));
  await commands(peer);
}

const ends: [string, (peer: Peer) => unknown][] = [
  ['closed', (peer) => peer.close()],
  ['reset', (peer) => peer.reset()],
];

describe.each(ends)('a connection that is %s', (_, end) => {
  it('before any reply leaves all messages unsent', async () => {
    const outcomes = await three((peer) => commands(peer).then(() => end(peer)));
    expect(outcomes).toMatchObject([notSent('mail'), notSent('mail'), notSent('mail')]);
  });

  it.each([
    ['rcpt', ['250 Ok']],
    ['data', ['250 Ok', '250 Ok']],
  ])('before the reply to %s leaves all messages unsent', async (stage, replies) => {
    const outcomes = await three(async (peer) => {
      await commands(peer);
      await peer.say(...replies);
      await settle();
      end(peer);
    });
    expect(outcomes).toMatchObject([notSent(stage), notSent(stage), notSent(stage)]);
  });

  it('after a final dot leaves only that message ambiguous', async () => {
    const outcomes = await three((peer) => firstWritten(peer).then(() => end(peer)));
    expect(outcomes).toMatchObject([ambiguous(), notSent('body'), notSent('body')]);
  });

  it('after the reply to a final dot leaves no message ambiguous, even if the next was pipelined', async () => {
    const outcomes = await three(async (peer) => {
      await firstWritten(peer);
      await peer.say('250 Ok', '250 Ok', '250 Ok');
      await settle();
      end(peer);
    });
    expect(outcomes).toMatchObject([accepted, notSent('data'), notSent('data')]);
  });

  it('after a refusal does not change the verdict', async () => {
    const outcomes = await three(async (peer) => {
      await commands(peer);
      await peer.say('250 Ok', '550 5.1.1 No such user');
      await settle();
      end(peer);
    });
    expect(outcomes).toMatchObject([refused('rcpt', 550), notSent('data'), notSent('data')]);
  });

  it('after the dot of an empty message does not change the verdict', async () => {
    const outcomes = await three(async (peer) => {
      await commands(peer);
      await peer.say('250 Ok', '550 5.1.1 No such user', '354 Go on');
      expect(await peer.data()).toBe('.\r\n');
      end(peer);
    });
    expect(outcomes).toMatchObject([refused('rcpt', 550), notSent('body'), notSent('body')]);
  });
});

describe('421', () => {
  it.each([
    ['mail', ['421 4.3.2 Closing']],
    ['rcpt', ['250 Ok', '421 4.3.2 Closing']],
    ['data', ['250 Ok', '250 Ok', '421 4.3.2 Closing']],
  ])('in reply to %s is a verdict on that message and ends the connection', async (stage, replies) => {
    const outcomes = await three((peer) => commands(peer).then(() => peer.say(...replies)));
    expect(outcomes).toMatchObject([refused(stage, 421), notSent(stage), notSent(stage)]);
  });

  it('in reply to a final dot is a verdict on that message; the one pipelined after it is unsent', async () => {
    const outcomes = await three((peer) => firstWritten(peer).then(() => peer.say('421 4.3.2 Closing')));
    expect(outcomes).toMatchObject([refused('body', 421), notSent('body'), notSent('body')]);
  });

  it('in reply to MAIL after an accepted message leaves that one accepted', async () => {
    const outcomes = await three((peer) => firstWritten(peer).then(() => peer.say('250 Ok', '421 Enough')));
    expect(outcomes).toMatchObject([accepted, refused('mail', 421), notSent('mail')]);
  });

  it('after a refusal does not change the verdict', async () => {
    const outcomes = await three((peer) =>
      commands(peer).then(() => peer.say('250 Ok', '550 5.1.1 No such user', '421 Enough')),
    );
    expect(outcomes).toMatchObject([refused('rcpt', 550), notSent('data'), notSent('data')]);
  });

  it('in reply to RSET is not a verdict on a message', async () => {
    const outcomes = await three(async (peer) => {
      await commands(peer);
      await peer.say('550 No', '503 No', '503 No');
      await peer.expect('RSET');
      await peer.say('421 Enough');
    });
    expect(outcomes).toMatchObject([
      { kind: 'refused', connectionLost: false },
      notSent('mail'),
      notSent('mail'),
    ]);
  });

  it('between messages ends the connection', async () => {
    expect(await closedWith((peer) => peer.say('421 4.4.2 Idle too long'))).toMatchObject({
      stage: 'idle',
      violation: false,
      reply: { code: 421, enhanced: '4.4.2' },
    });
  });
});

/** The error that ended a connection without messages. */
async function closedWith(script: (peer: Peer) => Promise<unknown>): Promise<SmtpConnectionError | null> {
  let go: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => (go = resolve));
  const connection = await talk(async (peer) => {
    await ready;
    await script(peer);
    await peer.gone();
  });
  const closed = new Promise<SmtpConnectionError | null>((resolve) => connection.onClose(resolve));
  go();
  const error = await closed;
  expect(connection.open).toBe(false);
  return error;
}

describe('a reply without a command', () => {
  it.each([
    ['a reply', '250 Ok\r\n'],
    ['a refusal', '550 5.1.1 No such user\r\n'],
    ['a go-ahead', '354 Go on\r\n'],
    ['the beginning of a reply', '25'],
    ['an empty line', '\r\n'],
    ['rubbish', 'hello?\r\n'],
  ])('ends an idle connection: %s', async (_, text) => {
    expect(await closedWith((peer) => peer.raw(text))).toMatchObject({ stage: 'idle', violation: true });
  });

  it('is not mistaken for the reply to a later command', async () => {
    for (const surplus of ['250 2.0.0 Again', '550 5.1.1 No such user', '250']) {
      const connection = await talk(async (peer) => {
        await peer.envelope();
        await peer.data();
        await peer.raw(`250 Ok\r\n${surplus}`);
        await peer.gone();
        expect(peer.unread).toBe('');
      });
      expect(await connection.send(submission(1))).toMatchObject(accepted);
      expect(await connection.send(submission(2))).toMatchObject({
        kind: 'not_sent',
        error: { violation: true },
      });
    }
  });

  it.each([
    ['250 Ok', '250 Again', '250 Ok', '250 Ok', '354 Go on'],
    ['250 Ok', '550 5.1.1 Surplus', '250 Ok', '250 Ok', '354 Go on'],
    ['250 Ok', '550 5.1.1 Surplus', '550 5.1.1 Surplus', '250 Ok', '250 Ok', '354 Go on'],
    ['250 Ok', '354 Surplus', '250 Ok', '250 Ok', '354 Go on'],
  ])('does not shift verdicts to a message pipelined after another: %s, %s', async (...replies) => {
    const outcomes = await three(async (peer) => {
      await firstWritten(peer);
      await peer.say(...replies);
    });
    expect(outcomes[0]).toMatchObject(accepted);
    expect(outcomes.slice(1)).toMatchObject([
      { kind: 'not_sent', error: { violation: true } },
      { kind: 'not_sent', error: { violation: true } },
    ]);
  });

  it('together with 354 prevents the body', async () => {
    const outcomes = await three(async (peer) => {
      await commands(peer);
      await peer.say('250 Ok', '250 Ok', '354 Go on', '354 Go on');
      await peer.gone();
      expect(peer.unread).toBe('');
    });
    expect(outcomes).toMatchObject([notSent('body'), notSent('body'), notSent('body')]);
  });
});

describe('an invalid reply', () => {
  it.each([
    ['mail', 'ok\r\n'],
    ['mail', '250-Ok\r\n550 No\r\n'],
    ['mail', '354 Go on\r\n'],
    ['rcpt', '250 Ok\r\n334 Go on\r\n'],
    ['data', '250 Ok\r\n250 Ok\r\n250 Ok\r\n'],
    ['data', '250 Ok\r\n550 5.1.1 No such user\r\n250 Ok\r\n'],
    ['data', '250 Ok\r\n250 Ok\r\n334 Go on\r\n'],
    ['data', '250 Ok\r\n250 Ok\r\n\0\0\0\0\r\n'],
  ])('to %s leaves the messages unsent: %j', async (stage, text) => {
    const outcomes = await three((peer) => commands(peer).then(() => peer.raw(text)));
    expect(outcomes).toMatchObject([notSent(stage), notSent(stage), notSent(stage)]);
    expect(outcomes).toMatchObject([{ error: { violation: true } }, {}, {}]);
  });

  it.each(['Ok\r\n', '354 Go on\r\n', '2500 Ok\r\n'])(
    'to a final dot leaves that message ambiguous: %j',
    async (text) => {
      const outcomes = await three((peer) => firstWritten(peer).then(() => peer.raw(text)));
      expect(outcomes).toMatchObject([ambiguous(), notSent('body'), notSent('body')]);
    },
  );

  it.each([
    ['a line', 'x'.repeat(1000), '250 '],
    ['lines', '250-more\r\n'.repeat(100), ''],
  ])('that never ends is cut off at 64 KiB: %s', async (_, more, start) => {
    let written = 0;
    const outcomes = await three(async (peer) => {
      await firstWritten(peer);
      await peer.raw(start);
      while (!peer.ended && written < 1_000_000) {
        await peer.raw(more);
        written += more.length;
        await settle();
      }
    });
    expect(outcomes).toMatchObject([ambiguous(), notSent('body'), notSent('body')]);
    expect(written).toBeLessThan(200_000);
  });

  it('to RSET ends the connection before the next message', async () => {
    const outcomes = await three(async (peer) => {
      await commands(peer);
      await peer.say('550 No', '503 No', '503 No');
      await peer.expect('RSET');
      await peer.say('502 What?');
    });
    expect(outcomes).toMatchObject([{ kind: 'refused' }, notSent('mail'), notSent('mail')]);
  });
});

describe('silence', () => {
  it('after a command ends with the reply time-out', async () => {
    const outcomes = await three((peer) => commands(peer), {
      replyTimeoutMs: 1_000,
      finalDotTimeoutMs: 60_000,
    });
    expect(outcomes).toMatchObject([notSent('mail'), notSent('mail'), notSent('mail')]);
    expect(outcomes[0]).toMatchObject({ error: { message: 'reply timed out' } });
  });

  it('after a final dot ends with its own time-out', async () => {
    const started = performance.now();
    const outcomes = await three((peer) => firstWritten(peer), {
      replyTimeoutMs: 1_000,
      finalDotTimeoutMs: 3_000,
    });
    expect(outcomes).toMatchObject([ambiguous(), notSent('body'), notSent('body')]);
    expect(performance.now() - started).toBeGreaterThan(2_500);
  });

  it('is allowed while no reply is owed', async () => {
    const connection = await talk(
      async (peer) => {
        for (const n of [1, 2]) {
          await peer.envelope();
          expect(await peer.data()).toBe(onWire(n));
          await peer.say('250 Ok');
        }
        await peer.gone();
      },
      { replyTimeoutMs: 1_000 },
    );
    expect(await connection.send(submission(1))).toMatchObject(accepted);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(connection.open).toBe(true);
    expect(await connection.send(submission(2))).toMatchObject(accepted);
  });

  it('is not ended by an incomplete reply', async () => {
    const outcomes = await three(
      async (peer) => {
        await commands(peer);
        while (!peer.ended) {
          await peer.raw('250-\r\n');
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      },
      { replyTimeoutMs: 1_000 },
    );
    expect(outcomes[0]).toMatchObject({ kind: 'not_sent', error: { message: 'reply timed out' } });
  });
});

describe('closing a connection', () => {
  function close(connection: SmtpConnection): Promise<SmtpConnectionError | null> {
    return new Promise((resolve) => connection.onClose(resolve));
  }

  it('with quit finishes what is pending, then sends QUIT', async () => {
    const connection = await talk(async (peer) => {
      await firstWritten(peer);
      await peer.say('250 Ok', '250 Ok', '250 Ok', '354 Go on');
      await peer.data();
      await settle();
      expect(peer.unread).toBe('');
      await peer.say('250 Ok');
      await peer.expect('QUIT');
      void connection.quit();
      await settle();
      expect(peer.unread).toBe('');
      await peer.say('221 Bye');
      await peer.gone();
    });
    const outcomes = [connection.send(submission(1)), connection.send(submission(2))];
    const left = connection.quit();
    expect(connection.open).toBe(false);
    expect(await connection.send(submission(3))).toMatchObject(notSent('idle') as object);
    await left;
    expect(await Promise.all(outcomes)).toMatchObject([accepted, accepted]);
    expect(await close(connection)).toBeNull();
    await connection.quit();
  });

  it.each([
    ['closes without a reply', (peer: Peer) => peer.close()],
    ['resets', async (peer: Peer) => peer.reset()],
    ['sends garbage', (peer: Peer) => peer.say('what?')],
  ])('with quit succeeds if the server %s', async (_, script) => {
    const connection = await talk(async (peer) => {
      await peer.expect('QUIT');
      await script(peer);
    });
    await connection.quit();
    expect(await close(connection)).toBeNull();
  });

  it('with quit resolves if the connection is lost first', async () => {
    const connection = await talk((peer) => firstWritten(peer).then(() => peer.close()));
    const outcome = connection.send(submission(1));
    void connection.send(submission(2));
    await connection.quit();
    expect(await outcome).toMatchObject({ kind: 'ambiguous' });
    expect(await close(connection)).toMatchObject({ stage: 'body' });
  });

  it('with destroy gives each message its outcome', async () => {
    const connection = await talk(async (peer) => {
      await firstWritten(peer);
      connection.destroy();
      await peer.gone();
    });
    const outcomes = [1, 2, 3].map((n) => connection.send(submission(n)));
    expect(await Promise.all(outcomes)).toMatchObject([ambiguous(), notSent('body'), notSent('body')]);
    expect(await close(connection)).toBeNull();
    expect(connection.open).toBe(false);
    connection.destroy();
  });

  it('notifies each listener once, even a late one', async () => {
    const server = await serve((peer) => peer.greet(...PIPELINING).then(() => peer.close()));
    const connection = await connect(server);
    const errors: unknown[] = [];
    connection.onClose((error) => errors.push(error?.stage));
    await close(connection);
    connection.onClose((error) => errors.push(error?.stage));
    connection.destroy();
    await settle();
    expect(errors).toEqual(['idle', 'idle']);
  });
});
