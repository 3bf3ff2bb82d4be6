// A tracking token returns what it was created for, and is invalid if any bit changes.
import { describe, expect, it } from '@jest/globals';
import {
  createTrackingTokens,
  MAX_TOKEN_LENGTH,
  MAX_URL_LENGTH,
  TOKEN_OVERHEAD,
  type TrackedTarget,
} from '../../../src/features/tracking/tokens.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';

const SECRET = 'the secret of these tests: thirty-two characters';
const OLDER = 'the secret of last year: thirty-two characters';
const tokens = createTrackingTokens(createKeyring(SECRET, [OLDER]));
const click: TrackedTarget = {
  accountId: 7,
  messageId: 2 ** 40 + 3,
  link: 2,
  links: 5,
  url: 'https://a.test/x?y=1#z',
};

function sign(target: TrackedTarget, signer = tokens.signer(tokens.keyId)): string {
  if (!signer) throw new Error('the key is unknown');
  return signer(target);
}

describe('a tracking token', () => {
  it('returns what it was created for', () => {
    const pixel = { ...click, link: 0, url: '' };
    expect(tokens.verify(sign(click))).toEqual(click);
    expect(tokens.verify(sign(pixel))).toEqual(pixel);
  });

  it('returns the longest URL that is tracked', () => {
    const longest = { ...click, url: `https://a.test/${'x'.repeat(MAX_URL_LENGTH - 15)}` };
    expect(tokens.verify(sign(longest))).toEqual(longest);
  });

  it('has a length that depends only on its URL', () => {
    const lengthOf = (target: TrackedTarget) => sign(target).length;
    expect(lengthOf(click)).toBe(Math.ceil(((TOKEN_OVERHEAD + click.url.length) * 4) / 3));
    expect(lengthOf({ ...click, accountId: 2 ** 47, messageId: 1, link: 1_000, links: 1_000 })).toBe(
      lengthOf(click),
    );
  });

  it('is valid if an earlier secret signed it, but not if a foreign one did', () => {
    const older = createTrackingTokens(createKeyring(OLDER));
    expect(tokens.verify(sign(click, older.signer(older.keyId)))).toEqual(click);
    const foreign = createTrackingTokens(createKeyring('a foreign secret of thirty-two characters'));
    expect(tokens.verify(sign(click, foreign.signer(foreign.keyId)))).toBeNull();
    expect(tokens.signer(foreign.keyId)).toBeNull();
  });

  it('is invalid if any of its bits was changed', () => {
    const bytes = Buffer.from(sign(click), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const forged = Buffer.from(bytes);
      forged.writeUInt8(forged.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect([bit, tokens.verify(forged.toString('base64url'))]).toEqual([bit, null]);
    }
  });

  it.each(['', 'x', 'AQ', '%00', 'ä', `${'A'.repeat(MAX_TOKEN_LENGTH)}A`, 'A'.repeat(200), '../../etc'])(
    'is invalid if it is %j',
    (text) => {
      expect(tokens.verify(text)).toBeNull();
    },
  );

  it.each(['javascript:alert(1)', '//a.test', 'data:text/html,x', ' https://a.test', ''])(
    'never leads to %j',
    (url) => {
      expect(tokens.verify(sign({ ...click, url }))).toBeNull();
    },
  );
});
