// The provider URL configures the relay, and an error about it never contains the password.
import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { ConfigError, loadConfig } from '../../../../src/config.ts';
import {
  createDefaultProvider,
  defaultEmailProvider,
  signsMessages,
} from '../../../../src/delivery/wire/providers/settings-url.ts';
import { smtpTargetFromUrl } from '../../../../src/delivery/wire/providers/smtp/hand-over.ts';
import { createResolver } from '../../../../src/platform/dns/resolver.ts';

const target = (url: string) => smtpTargetFromUrl(new URL(url), 'mail.test');

describe('the URL of a relay', () => {
  it.each([
    [
      'smtp://relay.test',
      { host: 'relay.test', port: 587, security: 'opportunistic', clientName: 'mail.test' },
    ],
    ['smtp://relay.test:25?tls=off&name=me.test', { port: 25, security: 'none', clientName: 'me.test' }],
    ['smtp://relay.test?tls=required', { security: 'starttls' }],
    ['smtp://u:p@relay.test', { security: 'starttls', auth: { user: 'u', pass: 'p' } }],
    ['smtp://a%40b.test:p%2F%3A@relay.test', { auth: { user: 'a@b.test', pass: 'p/:' } }],
    ['smtps://relay.test', { port: 465, security: 'implicit' }],
    ['smtp://[2001:db8::1]:2525', { host: '2001:db8::1', port: 2525 }],
    ['smtp://relay.test?dkim=off', { security: 'opportunistic', reports: 'failure' }],
    ['smtp://relay.test?dsn=success', { reports: 'success' }],
    ['smtp://relay.test?dsn=off', { reports: 'off' }],
  ])('%s', (url, expected) => {
    expect(target(url)).toMatchObject(expected);
  });

  it.each([
    ['smtp://relay.test?tls=yes', 'tls must be one of required, opportunistic, off'],
    ['smtp://u:secret@relay.test?tls=off', 'credentials need tls=required, not off'],
    ['smtp://u:secret@relay.test?tls=opportunistic', 'credentials need tls=required, not opportunistic'],
    ['smtp://u:secret%@relay.test', 'write % as %25 in the user name and the password'],
    ['smtp://relay.test?ca=/no/such/file.pem', 'the file that ca names cannot be read: ENOENT'],
    ['smtp://relay.test?tsl=off', 'unknown parameter tsl; known are tls, ca, name, dkim, dsn'],
    ['smtp://relay.test?dsn=on', 'dsn must be one of failure, success, off'],
    ['smtp:relay.test', 'the URL has no host'],
  ])('%s is refused with a message that does not contain the password', (url, words) => {
    const read = () => target(url);
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(`EMAIL_PROVIDER_URL: ${words}`);
    expect(read).not.toThrow('secret');
  });
});

describe('the configured providers', () => {
  const deps = (env: Record<string, string>) => ({
    config: loadConfig(env),
    pool: new pg.Pool(),
    resolver: createResolver([]),
  });

  it('have a known scheme, and there is one for email', () => {
    expect(createDefaultProvider('email', deps({ EMAIL_PROVIDER_URL: 'smtp://relay.test' }))?.name).toBe(
      'smtp',
    );
    expect(createDefaultProvider('email', deps({ EMAIL_PROVIDER_URL: 'capture:' }))?.name).toBe('capture');
    expect(createDefaultProvider('sms', deps({ SMS_PROVIDER_URL: 'capture:' }))?.name).toBe('capture');
    expect(createDefaultProvider('sms', deps({}))).toBeNull();
    const known = 'starts with pigeon:, which is not one of: capture:, smtp:, smtps:';
    expect(() => createDefaultProvider('email', deps({}))).toThrow('EMAIL_PROVIDER_URL is not set');
    expect(() => createDefaultProvider('email', deps({ EMAIL_PROVIDER_URL: 'pigeon://x' }))).toThrow(known);
    expect(() => createDefaultProvider('email', deps({ EMAIL_PROVIDER_URL: 'relay' }))).toThrow(
      'is not a URL',
    );
    expect(() => createDefaultProvider('sms', deps({ SMS_PROVIDER_URL: 'pigeon://x' }))).toThrow(
      'SMS_PROVIDER_URL starts with pigeon:',
    );
  });

  it.each([
    ['smtp://relay.test', 'smtp'],
    ['smtps://relay.test', 'smtp'],
    ['capture:', 'capture'],
    ['pigeon://x', 'pigeon'],
    ['relay', 'default'],
    [undefined, 'default'],
  ])('of %s is shown as %s', (url, name) => {
    expect(defaultEmailProvider({ EMAIL_PROVIDER_URL: url })).toBe(name);
  });

  it('leave signing to the relay if ?dkim=off is given', () => {
    const signs = (url: string) => signsMessages(loadConfig({ EMAIL_PROVIDER_URL: url }));
    expect(signs('smtp://relay.test')).toBe(true);
    expect(signs('smtp://relay.test?dkim=off')).toBe(false);
  });
});
