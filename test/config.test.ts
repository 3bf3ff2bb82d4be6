// Settings are checked at the start, and an error names what is wrong: secrets, PUBLIC_URL, and addresses of scanners.
import { describe, expect, it } from '@jest/globals';
import { ConfigError, loadConfig } from '../src/config.ts';

const older = 'the secret of last year: thirty-two characters';
const oldest = 'the secret of the year before: thirty-two characters';

describe('APP_SECRET_PREVIOUS', () => {
  it('lists secrets, separated by commas', () => {
    expect(loadConfig({}).APP_SECRET_PREVIOUS).toEqual([]);
    expect(loadConfig({ APP_SECRET_PREVIOUS: older }).APP_SECRET_PREVIOUS).toEqual([older]);
    const both = loadConfig({ APP_SECRET_PREVIOUS: ` ${older} ,${oldest}, ` });
    expect(both.APP_SECRET_PREVIOUS).toEqual([older, oldest]);
  });

  it('names the entry that is too short', () => {
    expect(() => loadConfig({ APP_SECRET_PREVIOUS: `${older},short` })).toThrow(
      new ConfigError('bad settings:\n  APP_SECRET_PREVIOUS.1: must be at least 32 characters'),
    );
  });

  it('can list every secret that APP_SECRET accepts', () => {
    expect(loadConfig({ APP_SECRET: ` ${older}\n` }).APP_SECRET).toBe(older);
    expect(() => loadConfig({ APP_SECRET: `${older},${oldest}` })).toThrow(
      /APP_SECRET: must not contain a comma/,
    );
  });
});

describe('SUBMISSION_PORTS', () => {
  it('lists ports, or names none of them', () => {
    expect(loadConfig({}).SUBMISSION_PORTS).toBeUndefined();
    expect(loadConfig({ SUBMISSION_PORTS: '587, 2587' }).SUBMISSION_PORTS).toEqual([587, 2587]);
    expect(loadConfig({ SUBMISSION_TLS_PORTS: 'none' }).SUBMISSION_TLS_PORTS).toEqual([]);
    expect(() => loadConfig({ SUBMISSION_PORTS: '587,smtp' })).toThrow(/SUBMISSION_PORTS\.1: must be /);
  });

  it('has no port of the mail role at its address', () => {
    const both = { SUBMISSION_PORTS: '587,2525' };
    expect(() => loadConfig(both)).toThrow(
      new ConfigError('bad settings:\n  SUBMISSION_PORTS: 2525 is MAIL_PORT, too'),
    );
    expect(loadConfig({ ...both, MAIL_PORT: '25' }).SUBMISSION_PORTS).toEqual([587, 2525]);
    expect(loadConfig({ ...both, MAIL_LISTEN_HOST: '192.0.2.1' }).SUBMISSION_PORTS).toEqual([587, 2525]);
  });
});

describe('PUBLIC_URL', () => {
  it.each([
    ['https://mail.acme.test', 'https://mail.acme.test'],
    ['https://mail.acme.test/', 'https://mail.acme.test'],
    ['HTTPS://Mail.Acme.test:443/', 'https://mail.acme.test'],
    ['http://127.0.0.1:3000', 'http://127.0.0.1:3000'],
  ])('%s becomes %s, without a slash that links would repeat', (url, clean) => {
    expect(loadConfig({ PUBLIC_URL: url }).PUBLIC_URL).toBe(clean);
  });

  it.each([
    'https://acme.test/mail',
    'https://acme.test/mail/',
    'https://acme.test//',
    'https://acme.test/?a',
    'https://ada@acme.test',
    'ftp://acme.test',
    'https://a.test/#b',
  ])('is refused with a path, query or user: %s', (url) => {
    expect(() => loadConfig({ PUBLIC_URL: url })).toThrow(/PUBLIC_URL: must/);
  });
});

describe('the base of other URLs', () => {
  it.each(['TEMPORAL_UI_PUBLIC_URL', 'AI_URL', 'STRIPE_API_URL'] as const)(
    'keeps the path in %s, without slashes at its end',
    (name) => {
      expect(loadConfig({ [name]: 'https://a.test/b/c//' })[name]).toBe('https://a.test/b/c');
      expect(loadConfig({ [name]: 'https://a.test/b' })[name]).toBe('https://a.test/b');
      expect(loadConfig({ [name]: 'http://a.test:81/' })[name]).toBe('http://a.test:81');
    },
  );
});

describe('CLAMD_URL', () => {
  it.each(['tcp://clamd:3310', 'tcp://[::1]', 'unix:///run/clamav/clamd.ctl'])('accepts %s', (url) => {
    expect(loadConfig({ CLAMD_URL: url }).CLAMD_URL).toBe(url);
  });

  it.each(['clamd:3310', 'http://clamd', 'unix://', 'unix://run/clamd.ctl', 'tcp://'])(
    'refuses %s',
    (url) => {
      expect(() => loadConfig({ CLAMD_URL: url })).toThrow(/CLAMD_URL/);
    },
  );
});

describe('the TLS mode of DATABASE_URL', () => {
  const modeOf = (query: string) => loadConfig({ DATABASE_URL: `postgres://a@b/c${query}` }).DATABASE_URL;

  it.each(['prefer', 'require', 'verify-ca'])(
    '%s is what the driver takes it for, without its warning',
    (mode) => {
      expect(modeOf(`?sslmode=${mode}&x=1`)).toBe('postgres://a@b/c?sslmode=verify-full&x=1');
    },
  );

  it.each(['', '?sslmode=disable', '?sslmode=no-verify', '?uselibpqcompat=true&sslmode=require'])(
    'stays as it is in a URL with %s',
    (query) => {
      expect(modeOf(query)).toBe(`postgres://a@b/c${query}`);
    },
  );
});
