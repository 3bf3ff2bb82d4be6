// A return path identifies its message with any accepted key, even if its case changes, and cannot be forged.
import { describe, expect, it } from '@jest/globals';
import { parseReturnPath, returnPathAddress } from '../../../../src/delivery/terms/addresses/return-path.ts';

const key = Buffer.alloc(32, 1);
const message = { accountId: 7, messageId: 123_456_789 };
const local = returnPathAddress(key, message, 'mail.test').split('@')[0] ?? '';

describe('the return path of a message', () => {
  it('identifies the message to the holder of the key, even if its case changed', () => {
    expect(parseReturnPath([key], local)).toEqual(message);
    expect(parseReturnPath([key], local.toUpperCase())).toEqual(message);
  });

  it('fits into a local part with the largest possible ids', () => {
    const largest = { accountId: Number.MAX_SAFE_INTEGER, messageId: Number.MAX_SAFE_INTEGER };
    const [longest = ''] = returnPathAddress(key, largest, 'mail.test').split('@');
    expect(longest.length).toBeLessThanOrEqual(64);
    expect(parseReturnPath([key], longest)).toEqual(largest);
  });

  it('is accepted as long as its key is', () => {
    expect(parseReturnPath([Buffer.alloc(32, 2), key], local)).toEqual(message);
    expect(parseReturnPath([], local)).toBeNull();
  });

  it('cannot be forged', () => {
    expect(parseReturnPath([Buffer.alloc(32, 2)], local)).toBeNull();
    expect(parseReturnPath([key], local.replace('b-7-', 'b-8-'))).toBeNull();
    expect(parseReturnPath([key], `${local.slice(0, -1)}${local.endsWith('a') ? 'e' : 'a'}`)).toBeNull();
    for (const other of ['', 'b--', 'bounces', `${local}x`, 'b-7-21i3v9-'])
      expect(parseReturnPath([key], other)).toBeNull();
  });
});
