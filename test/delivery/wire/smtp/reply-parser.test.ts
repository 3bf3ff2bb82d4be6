// SMTP replies parse the same however their bytes are cut, and malformed or endless ones are rejected.
import { describe, expect, it } from '@jest/globals';
import {
  MalformedReplyError,
  ReplyParser,
  type SmtpReply,
} from '../../../../src/delivery/wire/smtp/reply-parser.ts';

function parse(...chunks: (string | Buffer)[]): SmtpReply[] {
  const parser = new ReplyParser();
  const replies: SmtpReply[] = [];
  for (const chunk of chunks) {
    parser.feed(Buffer.from(chunk));
    for (let reply = parser.next(); reply; reply = parser.next()) replies.push(reply);
  }
  return replies;
}

describe('replies', () => {
  const several =
    '220 mx.example ESMTP\r\n250-mx.example\r\n250-PIPELINING\r\n250 SIZE 10\r\n250\r\n550-5.1.1 No such\r\n550 5.1.1 üser\r\n';
  const expected = [
    { code: 220, enhanced: null, text: 'mx.example ESMTP' },
    { code: 250, enhanced: null, text: 'mx.example\nPIPELINING\nSIZE 10' },
    { code: 250, enhanced: null, text: '' },
    { code: 550, enhanced: '5.1.1', text: 'No such\nüser' },
  ];

  it('are the same however the bytes are cut', () => {
    const bytes = Buffer.from(several);
    expect(parse(bytes)).toEqual(expected);
    expect(parse(...Array.from(bytes, (byte) => Buffer.from([byte])))).toEqual(expected);
    for (let first = 1; first < bytes.length; first++) {
      expect(parse(bytes.subarray(0, first), bytes.subarray(first))).toEqual(expected);
      const second = first + Math.ceil((bytes.length - first) / 2);
      expect(parse(bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second))).toEqual(
        expected,
      );
    }
  });

  it.each([
    ['250 2.1.0 Ok', '2.1.0', 'Ok'],
    ['550 5.1.10 Null MX', '5.1.10', 'Null MX'],
    ['452 4.2.2', '4.2.2', ''],
    ['550 4.2.2 Mailbox full', '4.2.2', 'Mailbox full'],
    ['550 5.1.1. No such user', null, '5.1.1. No such user'],
    ['550 1.1.1 Not a class', null, '1.1.1 Not a class'],
    ['550 5.1.1-Not', null, '5.1.1-Not'],
    ['550 5.1 Not', null, '5.1 Not'],
    ['250 127.0.0.1 hello', null, '127.0.0.1 hello'],
  ])('give the enhanced code of "%s"', (line, enhanced, text) => {
    expect(parse(`${line}\r\n`)).toEqual([{ code: Number(line.slice(0, 3)), enhanced, text }]);
  });

  it('may end lines with a bare LF, as some servers write', () => {
    expect(parse('250 One\n250 Two\r\n').map(({ text }) => text)).toEqual(['One', 'Two']);
  });

  it('have no control characters in their text', () => {
    expect(parse('250 a\0b\rc\x1b[31m\r\n')[0]?.text).toBe('a?b?c?[31m');
  });

  it.each([
    '',
    '25',
    'abc',
    '2x0 Ok',
    ' 250 Ok',
    '250Ok',
    '250_Ok',
    '2500 Ok',
    '150 Ok',
    '600 Ok',
    '199 Ok',
    'HTTP/1.1 400 Bad Request',
    '250-One\r\n251 Other code',
    '250-One\r\n550-Other code',
  ])('are malformed: "%s"', (line) => {
    expect(() => parse(`${line}\r\n`)).toThrow(MalformedReplyError);
  });

  it.each([
    ['in one line', () => 'x'.repeat(1000), '250 '],
    ['in many lines', () => `250-${'x'.repeat(100)}\r\n`, ''],
    ['in empty lines', () => '250-\r\n', ''],
  ])('may have at most 64 KiB %s', (_, more, start) => {
    const parser = new ReplyParser();
    let fed = 0;
    const feed = (text: string): void => {
      parser.feed(Buffer.from(text));
      fed += text.length;
      expect(parser.next()).toBeNull();
    };
    if (start) feed(start);
    expect(() => {
      while (fed < 200_000) feed(more());
    }).toThrow(/64 KiB/);
    expect(fed).toBeGreaterThan(64_000);
    expect(fed).toBeLessThan(67_000);
  });

  it('may be any number, if each is short', () => {
    expect(parse('250 Ok\r\n'.repeat(20_000))).toHaveLength(20_000);
  });
});
