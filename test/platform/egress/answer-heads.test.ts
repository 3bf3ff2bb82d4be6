// Heads are mended wherever the network splits them, and connections stay usable, or are closed, after mended responses.
import { afterEach, describe, expect, it } from '@jest/globals';
import { createResolver } from '../../../src/platform/dns/resolver.ts';
import { AnswerHeads } from '../../../src/platform/egress/answer-heads.ts';
import { createEgress, type Egress } from '../../../src/platform/egress/client.ts';
import { testCa } from '../../support/https-receiver.ts';
import { startRawServer, type RawServer } from '../../support/raw-server.ts';

/** What the parser gets of a response that arrives in these parts. */
function mended(...parts: string[]): string {
  const heads = new AnswerHeads();
  heads.begin();
  return parts.map((part) => heads.take(Buffer.from(part, 'latin1')).toString('latin1')).join('');
}

describe('the bytes of a response', () => {
  const plain = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nx-name: caf\xe9\r\n\r\nok';

  it.each([
    ['a plain one', plain, plain],
    [
      'an interim one before it',
      `\r\nHTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n${plain}`,
      `HTTP/1.1 102 Processing\r\n\r\n${plain}`,
    ],
    [
      'the same length twice',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 2\r\n\r\nok',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok',
    ],
    [
      'a length and an empty coding',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\nContent-Length: 2\r\n\r\nok',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok',
    ],
    [
      'lines that end with LF',
      'HTTP/1.1 201 OK\nx-a: b\n\nok\n\nok',
      'HTTP/1.1 201 OK\r\nx-a: b\r\n\r\nok\n\nok',
    ],
    ['no HTTP', '220 mail.example.com ESMTP\r\n\r\n', '220 mail.example.com ESMTP\r\n\r\n'],
    ['a status line of another kind', 'HTTP/1.x OK\r\n\r\n', 'HTTP/1.x OK\r\n\r\n'],
  ])('are the same however they are split: %s', (_name, given, expected) => {
    expect(mended(given)).toBe(expected);
    for (let at = 1; at < given.length; at += 1) {
      expect([at, mended(given.slice(0, at), given.slice(at))]).toEqual([at, expected]);
    }
    expect(mended(...given)).toBe(expected);
  });

  it('pass as they are after the head', () => {
    expect(mended(plain, 'HTTP/1.1 100 Continue\n\n')).toBe(`${plain}HTTP/1.1 100 Continue\n\n`);
  });

  it('are the same after a response without a body', () => {
    const late = 'HTTP/1.1 200 OK\r\n\r\n';
    expect(mended('HTTP/1.1 204 No Content\r\n\r\n', late)).toBe(`HTTP/1.1 204 No Content\r\n\r\n${late}`);
  });

  it('are not kept without end', () => {
    const endless = `HTTP/1.1 200 OK\r\nx-long: ${'x'.repeat(16 * 1024)}`;
    expect(mended(endless)).toBe(endless);
  });
});

describe('a connection', () => {
  let server: RawServer;
  let egress: Egress;
  afterEach(async () => {
    await egress.close();
    await server.close();
  });

  it.each([
    [
      'stays open after an interim response',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
      true,
    ],
    ['stays open after a 204', 'HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n', true],
    [
      'stays open after a length twice',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\nok',
      true,
    ],
    ['is closed after a 204 with a body', 'HTTP/1.1 204 No Content\r\ncontent-length: 2\r\n\r\nok', false],
    [
      'is closed after a 204 with a late body',
      'HTTP/1.1 204 No Content\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\n',
      false,
    ],
    [
      'is closed after a length and chunks',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
      false,
    ],
  ])('%s', async (_name, answer, staysOpen) => {
    server = await startRawServer((socket) => void socket.write(answer));
    const options = { resolver: createResolver([]), allow: ['127.0.0.1'], userAgent: 'test', ca: [testCa] };
    egress = createEgress(options);
    const url = `https://127.0.0.1:${server.port}/hook`;
    for (let request = 1; request <= 3; request += 1) {
      expect(await egress.request({ url, method: 'POST', body: '{}' })).toMatchObject({ ok: true });
    }
    // The next request may come before the connection of the last one can be used again.
    expect(server.connections < 3).toBe(staysOpen);
  });

  it('does not take bytes that come after a 204 for the response to the next request', async () => {
    let late = () => Promise.resolve();
    server = await startRawServer((socket) => {
      socket.write('HTTP/1.1 204 No Content\r\n\r\n');
      late = () =>
        new Promise((resolve) => {
          socket.once('close', () => resolve());
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        });
    });
    const options = { resolver: createResolver([]), allow: ['127.0.0.1'], userAgent: 'test', ca: [testCa] };
    egress = createEgress(options);
    const request = { url: `https://127.0.0.1:${server.port}/hook`, method: 'POST', body: '{}' } as const;
    expect(await egress.request(request)).toMatchObject({ ok: true, statusCode: 204 });
    await late();
    expect(await egress.request(request)).toMatchObject({ ok: true, statusCode: 204 });
    expect(server.connections).toBe(2);
  });
});
