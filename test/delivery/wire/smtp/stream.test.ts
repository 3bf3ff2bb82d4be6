// A message that is read while it is sent needs little memory, and is never half a message for the server.
import { describe, expect, it } from '@jest/globals';
import type { StreamedData } from '../../../../src/delivery/wire/smtp/contract.ts';
import { conversations, onWire, submission } from '../../../support/smtp/conversation.ts';
import { type Peer, settle } from '../../../support/smtp/scripted-server.ts';
import { startSinkThread } from '../../../support/smtp/sink-thread.ts';

const { serve, connect, talk } = conversations();

const PIECE = 65_536;
const accepted = { kind: 'accepted' };

/** Counts how far a message was read, and whether it was let go. */
interface Read extends StreamedData {
  pieces(): AsyncGenerator<Buffer>;
  read: number;
  closed: boolean;
}

/** A message of this many lines. @param broken after how many pieces it cannot be read */
function streamed(lines: number, broken = Infinity): Read {
  const text = Buffer.from(`${'x'.repeat(76)}\r\n`.repeat(Math.floor(PIECE / 78)));
  const size = lines * 78;
  const message: Read = {
    size,
    read: 0,
    closed: false,
    async *pieces() {
      try {
        for (let left = size; left > 0; left -= text.length) {
          if (message.read >= broken) throw new Error('EIO: a path that is not for logs');
          await settle();
          message.read += 1;
          yield text.subarray(0, left);
        }
      } finally {
        message.closed = true;
      }
    },
  };
  return message;
}

const LINES = 20_000;

describe('a streamed message', () => {
  it('arrives complete with its size, after the message before it and before the next', async () => {
    let received = '';
    const connection = await talk(async (peer) => {
      await peer.envelope();
      expect(await peer.data()).toBe(onWire(1));
      await peer.say('250 First');
      await peer.envelope();
      received = await peer.data();
      await peer.say('250 Second');
      await peer.envelope();
      expect(await peer.data()).toBe(onWire(3));
      await peer.say('250 Third');
      await peer.gone();
      expect(peer.commands[4]).toBe(`MAIL FROM:<bounce+2@example.com> SIZE=${10_000 * 78}`);
    });
    const data = streamed(10_000);
    const outcomes = [
      connection.send(submission(1)),
      connection.send(submission(2, { data })),
      connection.send(submission(3)),
    ];
    expect(await Promise.all(outcomes)).toMatchObject([accepted, accepted, accepted]);
    expect(received).toBe(`${`${'x'.repeat(76)}\r\n`.repeat(10_000)}.\r\n`);
    expect(data.closed).toBe(true);
  });

  it('of 27 MB leaves within 8 MB of memory', async () => {
    const sink = await startSinkThread();
    const connection = await connect(sink);
    const data = streamed(350_000);
    let most = 0;
    const before = process.memoryUsage().arrayBuffers;
    const measured: StreamedData = {
      size: data.size,
      async *pieces() {
        for await (const piece of data.pieces()) {
          most = Math.max(most, process.memoryUsage().arrayBuffers - before);
          yield piece;
        }
      },
    };
    const outcome = await connection.send(submission(1, { data: measured }));
    await sink.close();
    expect(outcome).toMatchObject({ kind: 'accepted', reply: { text: String(data.size + 3) } });
    expect(most).toBeLessThan(8_000_000);
  });

  it('is refused before it is read if it is larger than the server allows', async () => {
    const connection = await talk(async (peer) => peer.gone());
    const data = streamed(LINES);
    expect(await connection.send(submission(1, { data }))).toEqual({
      kind: 'unsupported',
      capability: 'size',
      message: `the message has ${LINES * 78} bytes, but the server accepts at most 1000000`,
    });
    expect(data.read).toBe(0);
  });

  it.each([
    ['cannot be read', () => streamed(LINES, 3)],
    ['is shorter than it says', () => ({ ...streamed(100), size: 7_878 })],
    ['is longer than it says', () => ({ ...streamed(100), size: 7_722 })],
    ['has more than its size in pieces of its own', () => twice(streamed(100))],
  ])('that %s ends the connection before the final dot', async (_what, create) => {
    const server = await serve(async (peer) => {
      await peer.greet('PIPELINING');
      await peer.envelope();
      await peer.gone();
      expect(peer.unread).not.toContain('\r\n.\r\n');
    });
    const connection = await connect(server);
    const data = create();
    const outcomes = [connection.send(submission(1, { data })), connection.send(submission(2))];
    const [first, second] = await Promise.all(outcomes);
    expect(first).toMatchObject({
      kind: 'not_sent',
      inTransfer: true,
      error: { message: 'the message could not be read', cause: expect.any(Error) },
    });
    expect(second).toMatchObject({ kind: 'not_sent' });
    expect(connection.open).toBe(false);
  });

  /** The server reads nothing after its 354. */
  const stalled = (script: (peer: Peer) => Promise<void>) =>
    serve(async (peer) => {
      await peer.greet('PIPELINING');
      await peer.envelope();
      peer.pause();
      await settle();
      await script(peer);
    }).then((server) => connect(server));

  it('is read no further after a refusal in its middle, or when the connection is lost', async () => {
    const lost = { kind: 'not_sent', inTransfer: true };
    for (const [end, outcome] of [
      [
        (peer: Peer) => peer.say('552 5.3.4 Too long'),
        { kind: 'refused', stage: 'body', connectionLost: true },
      ],
      [async (peer: Peer) => peer.reset(), lost],
      [(peer: Peer) => peer.say('421 4.3.2 Bye'), { kind: 'refused', stage: 'body', connectionLost: true }],
    ] as const) {
      const connection = await stalled(end);
      const data = streamed(1_000_000);
      expect(await connection.send(submission(1, { data }))).toMatchObject(outcome);
      await settle();
      await settle();
      expect(data.closed).toBe(true);
      expect(data.read).toBeLessThan(500);
    }
  });

  it('that has its 354 is finished when the connection is left', async () => {
    const data = streamed(150_000);
    let reached: () => void = () => undefined;
    const begun = new Promise<void>((resolve) => (reached = resolve));
    const server = await serve(async (peer) => {
      await peer.greet('PIPELINING');
      for (const command of ['MAIL', 'RCPT', 'DATA']) await peer.expect(command);
      peer.pause();
      await peer.say('250 Ok', '250 Ok', '354 Go on');
      await settle();
      reached();
      peer.resume();
      expect((await peer.data()).length).toBe(data.size + 3);
      await peer.say('250 Ok');
      await peer.expect('QUIT');
      await peer.close();
    });
    const connection = await connect(server);
    const outcomes = [connection.send(submission(1, { data })), connection.send(submission(2))];
    await begun;
    connection.leave();
    expect(await Promise.all(outcomes)).toMatchObject([accepted, { kind: 'left' }]);
  });
});

function twice(message: Read): StreamedData {
  return {
    size: message.size,
    async *pieces() {
      yield* message.pieces();
      yield* message.pieces();
    },
  };
}
