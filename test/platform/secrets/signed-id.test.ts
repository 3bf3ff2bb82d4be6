// A signed id returns its row only if it is unchanged, for its own purpose, and signed with a known secret.
import { describe, expect, it } from '@jest/globals';
import { createKeyring } from '../../../src/platform/secrets/keyring.ts';
import { createSignedIds, type SignedPurpose } from '../../../src/platform/secrets/signed-id.ts';

const SECRET = 'a secret of the tests that is long enough';
const OLDER = 'an older secret of the tests, also long';
const row = { accountId: 12, id: 3_456 };

describe('a signed id', () => {
  const ids = createSignedIds(createKeyring(SECRET));

  it('returns the row that it was signed for', () => {
    const signedId = ids.sign('upload', row);
    expect(signedId).toMatch(/^[\w-]+$/);
    expect(ids.verify('upload', signedId)).toEqual(row);
  });

  it('is refused if any of its characters is changed', () => {
    const signedId = ids.sign('upload', row);
    for (let at = 0; at < signedId.length; at += 1) {
      for (const other of ['0', 'z', '-']) {
        if (signedId[at] === other) continue;
        const forged = signedId.slice(0, at) + other + signedId.slice(at + 1);
        const found = ids.verify('upload', forged);
        // The last character of base64 has unused bits.
        if (at === signedId.length - 1) expect(found ?? row).toEqual(row);
        else expect({ forged, found }).toEqual({ forged, found: null });
      }
    }
  });

  it('is refused for any other purpose', () => {
    const signedId = ids.sign('another' as SignedPurpose, row);
    expect(ids.verify('upload', signedId)).toBeNull();
  });

  it.each([
    '',
    '-',
    '1-2-',
    '1-2-short',
    '1-2-3-4',
    '../../etc/passwd',
    `${'z'.repeat(30)}-1-${'A'.repeat(22)}`,
  ])('is refused if it is %j', (text) => {
    expect(ids.verify('upload', text)).toBeNull();
  });

  it('is accepted if signed with the previous APP_SECRET, but not with any other', () => {
    const older = createSignedIds(createKeyring(OLDER)).sign('upload', row);
    expect(ids.verify('upload', older)).toBeNull();
    const rotated = createSignedIds(createKeyring(SECRET, [OLDER]));
    expect(rotated.verify('upload', older)).toEqual(row);
    expect(rotated.sign('upload', row)).toBe(ids.sign('upload', row));
  });
});
