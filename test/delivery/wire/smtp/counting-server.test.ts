// The counting server of the benchmarks counts every message, even an empty one or one in pieces.
import { afterEach, expect, it } from '@jest/globals';
import { connectSmtp } from '../../../../src/delivery/wire/smtp/client.ts';
import { runSmtpLoop } from '../../../bench/smtp-loop.ts';
import { loopback, submission } from '../../../support/smtp/conversation.ts';
import { startCountingServer, type CountingServer } from '../../../support/smtp/counting-server.ts';

let server: CountingServer | undefined;
afterEach(() => server?.close());

it('counts every message of the bare loop, which uses all its connections', async () => {
  server = await startCountingServer({ port: 0, keep: true });
  const result = await runSmtpLoop({ host: '127.0.0.1', port: server.port, connections: 4, messages: 2_030 });
  expect(server.count).toBe(2_030);
  expect(server.messages).toHaveLength(2_030);
  expect(server.messages[0]).toEqual({ to: 'recipient0@example.net', messageId: '<1@mail.example.com>' });
  expect(result.messagesPerSecond).toBeGreaterThan(100);
  expect(result.cpuMicrosPerMessage).toBeGreaterThan(1);
});

it('finds the end of a message, even if it is empty or arrives in pieces', async () => {
  server = await startCountingServer({ port: 0, keep: true });
  const connection = await connectSmtp(loopback(server.port));
  const long = Buffer.from(`Message-Id: <long@x>\r\n\r\n${'.\r\n'.repeat(200_000)}`);
  const outcomes = await Promise.all([
    connection.send(submission(1, { data: long })),
    connection.send(submission(2, { data: Buffer.alloc(0) })),
    connection.send(submission(3)),
  ]);
  await connection.quit();
  expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'accepted', 'accepted']);
  expect(server.messages).toEqual([
    { to: 'recipient1@example.net', messageId: '<long@x>' },
    { to: 'recipient2@example.net', messageId: null },
    { to: 'recipient3@example.net', messageId: null },
  ]);
});
