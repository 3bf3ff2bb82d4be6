// A shared tracking token returns what it was created for, and is invalid if any part does not match.
import { describe, expect, it } from '@jest/globals';
import { createLinkTracker } from '../../../src/features/tracking/links.ts';
import {
  createTrackingTokens,
  MAX_URL_LENGTH,
  type SharedSigner,
} from '../../../src/features/tracking/tokens.ts';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';

const SECRET = 'the secret of these tests: thirty-two characters';
const OLDER = 'the secret of last year: thirty-two characters';
const tokens = createTrackingTokens(createKeyring(SECRET, [OLDER]));
const recipient = { accountId: 7, messageId: 2 ** 40 + 3, set: 91 };
const target = { set: 91, link: 2, links: 5, url: 'https://a.test/x?y=1#z' };

function signerOf(of = tokens): SharedSigner {
  const signer = of.sharedSigner(of.keyId);
  if (!signer) throw new Error('the key is unknown');
  return signer;
}

const join = (one: Partial<typeof recipient> = {}, other: Partial<typeof target> = {}, signer = signerOf()) =>
  signer.recipient({ ...recipient, ...one }) + signer.target({ ...target, ...other });

describe('a token of a recipient and a target', () => {
  it('returns what its parts were created for', () => {
    const { accountId, messageId } = recipient;
    const { link, links, url } = target;
    expect(tokens.verify(join())).toEqual({ accountId, messageId, link, links, url });
    const pixel = { link: 0, url: '' };
    expect(tokens.verify(join({}, pixel))).toEqual({ accountId, messageId, links, ...pixel });
  });

  it('returns the longest URL that is tracked', () => {
    const url = `https://a.test/${'x'.repeat(MAX_URL_LENGTH - 15)}`;
    expect(tokens.verify(join({}, { url }))).toMatchObject({ url });
  });

  it('is invalid if its parts belong to different contents', () => {
    expect(tokens.verify(join({ set: 92 }))).toBeNull();
    expect(tokens.verify(join({}, { set: 92 }))).toBeNull();
    expect(tokens.verify(join({ set: 92 }, { set: 92 }))).not.toBeNull();
  });

  it('is invalid if its parts were signed with different secrets', () => {
    const older = createTrackingTokens(createKeyring(OLDER));
    expect(tokens.verify(join({}, {}, signerOf(older)))).not.toBeNull();
    expect(tokens.verify(signerOf(older).recipient(recipient) + signerOf().target(target))).toBeNull();
    expect(tokens.verify(signerOf().recipient(recipient) + signerOf(older).target(target))).toBeNull();
  });

  it('is invalid if a part is missing, repeated or of the other kind', () => {
    const one = signerOf().recipient(recipient);
    const other = signerOf().target(target);
    for (const text of [
      one,
      other,
      `~${other}`,
      one + one,
      other + other,
      `${other}~${other}`,
      one + join(),
      '~',
    ])
      expect([text, tokens.verify(text)]).toEqual([text, null]);
  });

  it('is invalid if any of its bits was changed', () => {
    const parts = join()
      .split('~')
      .map((part) => Buffer.from(part, 'base64url'));
    for (const [n, bytes] of parts.entries()) {
      for (let bit = 0; bit < bytes.length * 8; bit += 1) {
        const forged = parts.map((part) => Buffer.from(part));
        forged[n]?.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
        const text = forged.map((part) => part.toString('base64url')).join('~');
        expect([n, bit, tokens.verify(text)]).toEqual([n, bit, null]);
      }
    }
  });

  it.each(['javascript:alert(1)', '//a.test', ''])('never leads to %j', (url) => {
    expect(tokens.verify(join({}, { url }))).toBeNull();
  });

  it('is what the tracker creates for a message with a set, with the length in its plan', () => {
    const tracker = createLinkTracker(tokens);
    const tracking = { opens: true, clicks: true, host: 'https://t.test', key: tokens.keyId };
    const message = { accountId: 7, messageId: 12, tracking, set: 91 };
    const plan = tracker.plan(message);
    const part = tracker.recipientToken(message);
    expect(part).toHaveLength(plan?.recipientLength ?? 0);
    const { url } = target;
    const length = part.length + Math.ceil((((plan?.tokenOverhead ?? 0) + url.length) * 4) / 3);
    const html = {
      pieces: ['', '', ''],
      slots: [
        { link: 0, length: 0 },
        { link: 1, length },
      ],
      links: [url],
    };
    const [pixel = '', token = ''] = tracker.tokens(message, html);
    expect(token).toHaveLength(length);
    expect(tokens.verify(token)).toEqual({ accountId: 7, messageId: 12, link: 1, links: 1, url });
    expect(tokens.verify(pixel)).toEqual({ accountId: 7, messageId: 12, link: 0, links: 1, url: '' });
    expect(part + tracker.targetToken(message, { link: 1, links: 1, url })).toBe(token);
  });
});
