// A connection that is left finishes the message whose 354 has arrived, and certainly hands over no other.
import { describe, expect, it } from '@jest/globals';
import type { SmtpConnection } from '../../../../src/delivery/wire/smtp/contract.ts';
import { conversations, onWire, submission } from '../../../support/smtp/conversation.ts';
import { type Peer, settle } from '../../../support/smtp/scripted-server.ts';

const { serve, connect, talk } = conversations();

const left = { kind: 'left' };
const accepted = { kind: 'accepted' };

const sendThree = (connection: SmtpConnection) => [1, 2, 3].map((n) => connection.send(submission(n)));

async function commands(peer: Peer): Promise<void> {
  for (const command of ['MAIL', 'RCPT', 'DATA']) await peer.expect(command);
}

/** Resolves when the script calls `reached`. */
function milestone() {
  let reached: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => (reached = resolve));
  return { promise, reached };
}

describe('a connection that is left', () => {
  it('before the 354 of a message closes without its body', async () => {
    const ready = milestone();
    const connection = await talk(async (peer) => {
      await commands(peer);
      await peer.say('250 Ok', '250 Ok');
      await settle();
      ready.reached();
      await peer.gone();
      expect(peer.unread).toBe('');
    });
    const outcomes = sendThree(connection);
    await ready.promise;
    connection.leave();
    expect(await Promise.all(outcomes)).toEqual([left, left, left]);
    expect(connection.open).toBe(false);
    expect(await connection.send(submission(4))).toEqual(left);
  });

  it('after a final dot waits for its reply, and gives up the message whose commands came with the dot', async () => {
    const [dot, go] = [milestone(), milestone()];
    const connection = await talk(async (peer) => {
      await peer.envelope();
      expect(await peer.data()).toBe(onWire(1));
      await commands(peer);
      dot.reached();
      await go.promise;
      // A server would take QUIT for the body of the second message.
      await peer.say('250 First', '250 Ok', '250 Ok', '354 Go on');
      await peer.gone();
      expect(peer.unread).toBe('');
    });
    const [first, ...others] = sendThree(connection);
    await dot.promise;
    connection.leave();
    expect(await Promise.all(others)).toEqual([left, left]);
    go.reached();
    expect(await first).toMatchObject(accepted);
  });

  it('says QUIT after the reply if no other message was begun', async () => {
    const [dot, go] = [milestone(), milestone()];
    const connection = await talk(async (peer) => {
      await peer.envelope();
      await peer.data();
      dot.reached();
      await go.promise;
      await peer.say('250 First');
      await peer.expect('QUIT');
      await peer.say('221 Bye');
      await peer.gone();
    });
    const outcome = connection.send(submission(1));
    await dot.promise;
    connection.leave();
    go.reached();
    expect(await outcome).toMatchObject(accepted);
    await connection.quit();
  });

  it('in the middle of a long body writes all of it', async () => {
    const [begun, go] = [milestone(), milestone()];
    // More than the buffers of both sockets take while the server does not read.
    const data = Buffer.from(`${'x'.repeat(998)}\r\n`.repeat(12_000));
    const server = await serve(async (peer) => {
      await peer.greet('PIPELINING');
      await commands(peer);
      peer.pause();
      await peer.say('250 Ok', '250 Ok', '354 Go on');
      await settle();
      begun.reached();
      await go.promise;
      peer.resume();
      expect((await peer.data()).length).toBe(data.length + 3);
      await peer.say('250 Ok');
      await peer.expect('QUIT');
      await peer.close();
    });
    const connection = await connect(server);
    const outcomes = [connection.send(submission(1, { data })), connection.send(submission(2))];
    await begun.promise;
    connection.leave();
    go.reached();
    expect(await Promise.all(outcomes)).toMatchObject([accepted, left]);
  });

  it('keeps the refusal of a message that the server has refused already', async () => {
    const ready = milestone();
    const connection = await talk(async (peer) => {
      await commands(peer);
      await peer.say('250 Ok', '550 5.1.1 no such user');
      await settle();
      ready.reached();
      await peer.gone();
    });
    const outcomes = sendThree(connection);
    await ready.promise;
    connection.leave();
    expect(await Promise.all(outcomes)).toMatchObject([{ kind: 'refused', stage: 'rcpt' }, left, left]);
  });

  it('without PIPELINING writes no further command', async () => {
    const ready = milestone();
    const server = await serve(async (peer) => {
      await peer.greet('8BITMIME');
      await peer.expect('MAIL');
      await peer.say('250 Ok');
      await peer.expect('RCPT');
      ready.reached();
      await peer.gone();
      expect(peer.unread).toBe('');
    });
    const connection = await connect(server);
    const outcomes = sendThree(connection);
    await ready.promise;
    connection.leave();
    expect(await Promise.all(outcomes)).toEqual([left, left, left]);
  });

  it('after a final dot whose connection is lost leaves only that message in doubt', async () => {
    const [dot, go] = [milestone(), milestone()];
    const connection = await talk(async (peer) => {
      await peer.envelope();
      await peer.data();
      await commands(peer);
      dot.reached();
      await go.promise;
      peer.reset();
    });
    const outcomes = sendThree(connection);
    await dot.promise;
    connection.leave();
    go.reached();
    expect(await Promise.all(outcomes)).toMatchObject([{ kind: 'ambiguous' }, left, left]);
  });
});
