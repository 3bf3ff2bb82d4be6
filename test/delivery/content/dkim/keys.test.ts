// The RSA and Ed25519 keys of Carillon's own domain are created once, and are stored encrypted.
import { createPublicKey } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  ensureSigningKeys,
  loadSigningKeys,
  showRecords,
} from '../../../../src/delivery/content/dkim/keys.ts';
import { createKeyring } from '../../../../src/platform/secrets/keyring.ts';
import { createTestDatabase, type TestDatabase } from '../../../support/database.ts';

describe("the signing keys of Carillon's own domain", () => {
  const keyring = createKeyring('a secret of at least thirty-two characters');
  let made: TestDatabase;
  beforeAll(async () => {
    made = await createTestDatabase();
  });
  afterAll(() => made.drop());

  it('are created once, RSA and Ed25519, even if several processes start together', async () => {
    const deps = { db: made.database.pool, keyring };
    await Promise.all([1, 2, 3].map(() => ensureSigningKeys(deps, 'mail.test')));
    const keys = await loadSigningKeys(deps, 'mail.test');
    expect(keys.map((key) => key.algorithm)).toEqual(['rsa', 'ed25519']);
    const rsa = keys[0];
    const spki = createPublicKey(rsa?.privateKeyPem ?? '').export({ type: 'spki', format: 'der' });
    expect(spki.toString('base64')).toBe(rsa?.publicKeyBase64);
    expect((await showRecords(made.database.pool, 'mail.test')).map((record) => record.name)).toEqual([
      'crl-rsa._domainkey.mail.test',
      'crl-ed._domainkey.mail.test',
    ]);
  });

  it('are not readable in the database', async () => {
    const { rows } = await made.database.pool.query<{ sealed: string }>(
      'select private_key_sealed as sealed from dkim_keys',
    );
    for (const { sealed } of rows) expect(sealed).toMatch(/^s1\./);
    const stranger = {
      db: made.database.pool,
      keyring: createKeyring('another secret of at least 32 characters'),
    };
    await expect(loadSigningKeys(stranger, 'mail.test')).rejects.toThrow(/APP_SECRET_PREVIOUS/);
  });
});
