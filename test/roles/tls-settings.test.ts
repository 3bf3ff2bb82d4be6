// A role starts with the certificate of its settings, or says what is wrong with them.
import { describe, expect, it } from '@jest/globals';
import { ConfigError, loadConfig } from '../../src/config.ts';
import { openTlsSettings } from '../../src/roles/tls-settings.ts';
import { certificates } from '../support/submission.ts';

const { first, second } = certificates;
const open = (cert?: string, key?: string) =>
  openTlsSettings(loadConfig({ MAIL_TLS_CERT_FILE: cert, MAIL_TLS_KEY_FILE: key }), 'MAIL');

describe('the certificate of a role', () => {
  it('is read if both files are set, and none is needed', async () => {
    expect(await open()).toBeNull();
    expect((await open(first.cert, first.key))?.pair.cert).toContain('BEGIN CERTIFICATE');
  });

  it.each([
    [
      'without its key',
      first.cert,
      undefined,
      'set both MAIL_TLS_CERT_FILE and MAIL_TLS_KEY_FILE, or neither',
    ],
    [
      'that is missing',
      `${first.cert}.none`,
      first.key,
      /MAIL_TLS_CERT_FILE and MAIL_TLS_KEY_FILE cannot be used: ENOENT/,
    ],
    ['with another key', first.cert, second.key, /cannot be used: .*mismatch/],
  ])('%s is refused', async (_what, cert, key, message) => {
    const refused = open(cert, key);
    await expect(refused).rejects.toThrow(message);
    await expect(refused).rejects.toBeInstanceOf(ConfigError);
  });
});
