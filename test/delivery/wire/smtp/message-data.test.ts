// Message data is dot-stuffed so that no content can end the message early.
import { describe, expect, it } from '@jest/globals';
import { scanData, stuffDots } from '../../../../src/delivery/wire/smtp/message-data.ts';

function stuffed(text: string): string {
  const data = Buffer.from(text, 'latin1');
  return Buffer.from(stuffDots(data, scanData(data).dots)).toString('latin1');
}

describe('a message after DATA', () => {
  it.each([
    ['', ''],
    ['a\r\nb\r\n', 'a\r\nb\r\n'],
    ['.\r\n', '..\r\n'],
    ['..a\r\n', '...a\r\n'],
    ['a\r\n.\r\nb\r\n', 'a\r\n..\r\nb\r\n'],
    ['a\r\n.b\r\n..\r\n', 'a\r\n..b\r\n...\r\n'],
    ['a.\r\nb.c\r\n', 'a.\r\nb.c\r\n'],
    ['no line end', 'no line end\r\n'],
    ['.', '..\r\n'],
    ['\r\n.', '\r\n..\r\n'],
  ])('%j is written as %j', (text, expected) => {
    expect(stuffed(text)).toBe(expected);
  });

  it('can be read back and contains no final dot, whatever its lines are', () => {
    const lines = ['', '.', '..', '.a', 'a.', 'plain'];
    for (let n = 0; n < 6 ** 4; n++) {
      const text = [0, 1, 2, 3].map((i) => `${lines[Math.floor(n / 6 ** i) % 6]}\r\n`).join('');
      const written = stuffed(text);
      expect(`\r\n${written}`).not.toContain('\r\n.\r\n');
      expect(written.replace(/^\./gm, '')).toBe(text);
    }
  });

  it('is not copied if nothing has to change', () => {
    const data = Buffer.from('a\r\n');
    expect(stuffDots(data, 0)).toBe(data);
  });

  it.each([
    ['a\nb\r\n', 1],
    ['a\rb\r\n', 1],
    ['\n.\n', 0],
    ['a\r\n.\rb', 4],
    ['a\r\r\n', 1],
    ['a\r', 1],
    ['a\r\n', -1],
  ])('%j has its first bare CR or LF at %d', (text, at) => {
    expect(scanData(Buffer.from(text)).bareAt).toBe(at);
  });
});
