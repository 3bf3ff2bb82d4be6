// The MAC functions compute HMAC-SHA-256 for any key and content, as RFC 4231 specifies.
import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { mac, macInHex } from '../../../src/platform/secrets/mac.ts';

const expected = (key: Buffer, content: string | Buffer) =>
  createHmac('sha256', key).update(content).digest('hex');

describe('macInHex', () => {
  it.each([0, 1, 32, 63, 64, 65, 200])('is an HMAC-SHA-256 with a key of %d bytes', (length) => {
    const key = randomBytes(length);
    expect(macInHex(key, 'a content')).toBe(expected(key, 'a content'));
  });

  it('is the same for contents of any length, in any order', () => {
    const key = randomBytes(32);
    for (const length of [3_000, 0, 2_049, 1, 2_048, 2_047, 64, 55, 56, 63]) {
      const content = randomBytes(length);
      expect([length, macInHex(key, content)]).toEqual([length, expected(key, content)]);
    }
  });

  it('signs a text in UTF-8', () => {
    const key = randomBytes(32);
    for (const text of ['', 'größer', '€'.repeat(1_000), '😀'.repeat(512), 'x'.repeat(5_000)]) {
      expect(macInHex(key, text)).toBe(expected(key, text));
    }
  });

  it('does not mix keys up', () => {
    const keys = [randomBytes(32), randomBytes(32)];
    for (const key of [...keys, ...keys]) {
      expect(macInHex(key, 'x')).toBe(expected(key, 'x'));
    }
  });

  it('is that of the test cases 1, 2 and 6 of RFC 4231', () => {
    expect(macInHex(Buffer.alloc(20, 0x0b), 'Hi There')).toBe(
      'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7',
    );
    expect(macInHex(Buffer.from('Jefe'), 'what do ya want for nothing?')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
    expect(macInHex(Buffer.alloc(131, 0xaa), 'Test Using Larger Than Block-Size Key - Hash Key First')).toBe(
      '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54',
    );
  });
});

describe('mac', () => {
  it('returns the first bytes', () => {
    const key = randomBytes(32);
    expect(mac(key, 'x', 16)).toEqual(createHmac('sha256', key).update('x').digest().subarray(0, 16));
  });
});
