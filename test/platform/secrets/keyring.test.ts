// A sealed value opens only in its own place, for its own purpose, and with a current or previous secret.
import { describe, expect, it } from '@jest/globals';
import { createKeyring, UnsealError, type SealedPlace } from '../../../src/platform/secrets/keyring.ts';

const first = 'first secret of at least thirty-two characters';
const second = 'second secret of at least thirty-two characters';
const third = 'third secret of at least thirty-two characters';
const place: SealedPlace = { table: 'webhooks', column: 'secret', row: 7, accountId: 3 };

describe('a keyring', () => {
  it('opens what it sealed, and never seals a value the same way twice', () => {
    const keyring = createKeyring(first);
    const sealed = keyring.seal('käse', place);
    expect(sealed).not.toContain('käse');
    expect(keyring.seal('käse', place)).not.toBe(sealed);
    expect(keyring.open(sealed, place)).toBe('käse');
  });

  it.each([
    ['table', { ...place, table: 'dkim_keys' }],
    ['column', { ...place, column: 'old_secret' }],
    ['row', { ...place, row: 8 }],
    ['account', { ...place, accountId: 4 }],
    ['owner', { ...place, accountId: null }],
  ])('refuses a value that was moved to another %s', (_, other) => {
    const keyring = createKeyring(first);
    expect(() => keyring.open(keyring.seal('x', place), other)).toThrow(UnsealError);
  });

  it('refuses a value that was changed', () => {
    const keyring = createKeyring(first);
    const sealed = keyring.seal('a longer secret', place);
    const [version, id, body] = sealed.split('.') as [string, string, string];
    const bytes = Buffer.from(body, 'base64url');
    bytes[14] = (bytes[14] ?? 0) ^ 1;
    expect(() => keyring.open(`${version}.${id}.${bytes.toString('base64url')}`, place)).toThrow(UnsealError);
    expect(() => keyring.open('rubbish', place)).toThrow(UnsealError);
  });

  it('opens values of the previous secret, and seals with the current one', () => {
    const old = createKeyring(first).seal('kept', place);
    const keyring = createKeyring(second, [first]);
    expect(keyring.open(old, place)).toBe('kept');
    expect(keyring.subkey('jwt')).toEqual(createKeyring(second).subkey('jwt'));
    expect(keyring.accepted('jwt')[1]).toEqual(createKeyring(first).subkey('jwt'));
    expect(() => createKeyring(second).open(old, place)).toThrow(/APP_SECRET_PREVIOUS/);
  });

  it('opens values of every previous secret', () => {
    const keyring = createKeyring(third, [second, first]);
    expect(keyring.open(createKeyring(first).seal('oldest', place), place)).toBe('oldest');
    expect(keyring.open(createKeyring(second).seal('older', place), place)).toBe('older');
    expect(keyring.accepted('unsubscribe').map(({ id }) => id)).toEqual(
      [third, second, first].map((secret) => createKeyring(secret).subkey('unsubscribe').id),
    );
  });

  it('has a different key for each purpose', () => {
    const keyring = createKeyring(first);
    expect(keyring.subkey('jwt').key.equals(keyring.subkey('tracking').key)).toBe(false);
    expect(keyring.subkey('jwt').key).toHaveLength(32);
  });
});
