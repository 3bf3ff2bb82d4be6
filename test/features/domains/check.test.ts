// A domain check distinguishes right, wrong and unknown DNS records, and needs only the required ones.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { checkRecords, verdictOf } from '../../../src/features/domains/check.ts';
import { type DomainRecord, recordsOf } from '../../../src/features/domains/records.ts';
import { createResolver, type Resolver } from '../../../src/platform/dns/resolver.ts';
import { startDnsServer, type TestDnsServer } from '../../support/dns/server.ts';

const NAME = 'acme.example';
const RSA = 'crl-7-rsa._domainkey.acme.example';
const ED = 'crl-7-ed._domainkey.acme.example';
const BOUNCES = 'crl-bounces.acme.example';
const KEY = `v=DKIM1; k=rsa; p=${'MIIBIjAN'.repeat(49)}`;
const SPF = 'v=spf1 include:mail.test ~all';

const records = (name = NAME, receivesMail = false): DomainRecord[] =>
  recordsOf(
    {
      name,
      returnPathHost: BOUNCES,
      trackingHost: `links.${name}`,
      carillonSigns: true,
      providerRecords: [],
      receivesMail,
    },
    {
      rsa: { type: 'TXT', name: RSA, value: KEY },
      ed25519: { type: 'TXT', name: ED, value: 'v=DKIM1; k=ed25519; p=abc=' },
    },
    { mailDomain: 'mail.test', mailHost: 'mx.mail.test', publicHost: 'app.test' },
  );

let dns: TestDnsServer;
let resolver: Resolver;
beforeAll(async () => {
  dns = await startDnsServer();
  // Long enough for a busy machine, and short enough for tests of name servers that do not answer.
  resolver = createResolver([dns.address], { recordTimeoutMs: 1_500 });
});
afterAll(() => dns.close());
beforeEach(() => {
  dns.recursive = true;
  dns.zone = {
    [RSA]: { TXT: [KEY] },
    [BOUNCES]: { TXT: [SPF], MX: [{ exchange: 'mx.mail.test', preference: 10 }] },
    [ED]: { TXT: ['v=DKIM1; k=ed25519; p=abc='] },
    [`_dmarc.${NAME}`]: { TXT: ['v=DMARC1; p=reject; adkim=s'] },
    [`links.${NAME}`]: { CNAME: 'app.test' },
    'app.test': { A: ['192.0.2.1'] },
  };
});

const check = async (name = NAME) => checkRecords(resolver, records(name));
const verdict = async () => verdictOf(records(), await check());

it('passes if all records are right', async () => {
  const right = { valid: 'true' };
  expect(await check()).toEqual({
    dkim_rsa: right,
    return_path_mx: right,
    return_path_spf: right,
    dkim_ed25519: right,
    dmarc: right,
    tracking: right,
  });
  expect(await verdict()).toBe('passed');
});

it('passes without the optional records', async () => {
  for (const name of [ED, `_dmarc.${NAME}`, `links.${NAME}`]) delete dns.zone[name];
  expect(await verdict()).toBe('passed');
  expect((await check()).dkim_ed25519).toEqual({ valid: 'false', found: '' });
});

describe('a DKIM record', () => {
  const right: [string, (string | string[])[]][] = [
    ['of several strings', [[KEY.slice(0, 200), KEY.slice(200)]]],
    [
      'with further tags and spaces',
      [`v=DKIM1;t=s; h=sha1:sha256 ;s=email; ${KEY.slice(10).replace('MIIB', 'MI IB')}`],
    ],
    ['without optional tags', [KEY.slice(KEY.indexOf('p='))]],
    ['next to a text that is not a key', ['hello=world', KEY]],
  ];
  it.each(right)('%s is right', async (_what, TXT) => {
    dns.zone[RSA] = { TXT };
    expect((await check()).dkim_rsa).toEqual({ valid: 'true' });
  });

  const wrong: [string, (string | string[])[]][] = [
    ['with another key', [KEY.replace('MIIB', 'MIIC')]],
    ['with a revoked key', ['v=DKIM1; p=']],
    ['for another algorithm', [KEY.replace('k=rsa', 'k=ed25519')]],
    ['for another service', [`${KEY}; s=other`]],
    ['for another hash', [`${KEY}; h=sha1`]],
    ['next to another key', [KEY, KEY.replace('MIIB', 'MIIC')]],
  ];
  it.each(wrong)('%s is wrong, and shows what was found', async (_what, TXT) => {
    dns.zone[RSA] = { TXT };
    expect((await check()).dkim_rsa).toEqual({ valid: 'false', found: TXT.join(', ').slice(0, 500) });
    expect(await verdict()).toBe('refused');
  });

  it('is wrong if the name does not exist, or has no TXT record', async () => {
    delete dns.zone[RSA];
    expect((await check()).dkim_rsa).toEqual({ valid: 'false', found: '' });
    dns.zone[RSA] = { A: ['192.0.2.1'] };
    expect((await check()).dkim_rsa).toEqual({ valid: 'false', found: '' });
  });

  it.each([true, false])(
    'is found at the end of a chain of CNAME records (recursive server: %s)',
    async (recursive) => {
      dns.recursive = recursive;
      dns.zone[RSA] = { CNAME: 'one.keys.test' };
      dns.zone['one.keys.test'] = { CNAME: 'two.keys.test' };
      dns.zone['two.keys.test'] = { TXT: [KEY] };
      expect((await check()).dkim_rsa).toEqual({ valid: 'true' });
      dns.zone['two.keys.test'] = { A: ['192.0.2.1'] };
      expect((await check()).dkim_rsa).toEqual({ valid: 'false', found: '' });
      dns.zone['two.keys.test'] = { CNAME: 'one.keys.test' };
      expect((await check()).dkim_rsa).toEqual({ valid: 'unknown' });
    },
  );
});

describe('without an answer', () => {
  it.each(['servfail', 'refused', 'silent'] as const)('a record is unknown: %s', async (failure) => {
    dns.zone[RSA] = failure;
    const checks = await check();
    expect(checks.dkim_rsa).toEqual({ valid: 'unknown' });
    expect(verdictOf(records(), checks)).toBe('unanswered');
  });

  it('a wrong record outweighs an unknown one', async () => {
    dns.zone[RSA] = 'servfail';
    delete dns.zone[BOUNCES];
    expect(await verdict()).toBe('refused');
  });

  it('an optional record does not matter', async () => {
    dns.zone[ED] = 'servfail';
    expect((await check()).dkim_ed25519).toEqual({ valid: 'unknown' });
    expect(await verdict()).toBe('passed');
  });
});

describe('the return path', () => {
  const spf = async (...TXT: string[]) => {
    dns.zone[BOUNCES] = { TXT, MX: [{ exchange: 'MX.mail.test', preference: 5 }] };
    return (await check()).return_path_spf;
  };
  const mx = async (...MX: { exchange: string; preference: number }[]) => {
    dns.zone[BOUNCES] = { TXT: [SPF], MX };
    return (await check()).return_path_mx;
  };

  it('may have an SPF record with further mechanisms', async () => {
    expect(await spf('V=SPF1 ip4:192.0.2.0/24 +Include:MAIL.test -all', 'other text')).toEqual({
      valid: 'true',
    });
  });

  it('has a wrong SPF record if it does not include ours, or there are two', async () => {
    expect(await spf('v=spf1 -all')).toEqual({ valid: 'false', found: 'v=spf1 -all' });
    expect(await spf('v=spf1 -include:mail.test -all')).toMatchObject({ valid: 'false' });
    expect(await spf('v=spf1 include:mail.test.evil.example -all')).toMatchObject({ valid: 'false' });
    expect(await spf(SPF, 'v=spf1 -all')).toMatchObject({ valid: 'false', found: `${SPF}, v=spf1 -all` });
  });

  it('has our host as its preferred exchange', async () => {
    const ours = { exchange: 'mx.MAIL.test', preference: 10 };
    expect(await mx(ours, { exchange: 'backup.test', preference: 20 })).toEqual({ valid: 'true' });
    expect(await mx(ours, { exchange: 'first.test', preference: 5 })).toMatchObject({ valid: 'false' });
    expect(await mx({ exchange: 'else.test', preference: 1 })).toEqual({
      valid: 'false',
      found: '1 else.test',
    });
    expect(await mx()).toEqual({ valid: 'false', found: '' });
  });
});

describe('the optional records', () => {
  it('include a DMARC policy, which a subdomain has from its organization', async () => {
    const sub = 'news.acme.example';
    expect((await check(sub)).dmarc).toEqual({ valid: 'true' });
    dns.zone[`_dmarc.${sub}`] = { TXT: ['v=DMARC1; p=maybe'] };
    expect((await check(sub)).dmarc).toMatchObject({ valid: 'false' });
  });

  it('include the host of links, through any chain of CNAME records', async () => {
    dns.zone[`links.${NAME}`] = { CNAME: 'alias.test' };
    dns.zone['alias.test'] = { CNAME: 'APP.test' };
    expect((await check()).tracking).toEqual({ valid: 'true' });
    dns.zone['alias.test'] = { CNAME: 'else.test' };
    expect((await check()).tracking).toEqual({ valid: 'false', found: 'alias.test' });
  });
});

describe('the MX record of an inbox', () => {
  const checkInbox = async () => (await checkRecords(resolver, records(NAME, true))).inbox_mx;

  it('is right if our host is a preferred exchange of the domain', async () => {
    dns.zone[NAME] = { MX: [{ exchange: 'MX.mail.test', preference: 10 }] };
    expect(await checkInbox()).toEqual({ valid: 'true' });
    dns.zone[NAME] = { MX: [{ exchange: 'mx.other.test', preference: 5 }] };
    expect(await checkInbox()).toEqual({ valid: 'false', found: '5 mx.other.test' });
  });

  it('is not required, and is there only if the domain receives mail', async () => {
    expect(records(NAME, true).find(({ key }) => key === 'inbox_mx')).toEqual({
      key: 'inbox_mx',
      type: 'MX',
      name: NAME,
      value: 'mx.mail.test',
      priority: 10,
      required: false,
      rule: 'mx',
      fallbacks: [],
    });
    expect(records().map(({ key }) => key)).not.toContain('inbox_mx');
  });
});

it('shows a wrong record without characters that the database cannot store', async () => {
  dns.zone[RSA] = { TXT: ['v=DKIM1; p=\0wrong'] };
  expect((await check()).dkim_rsa).toEqual({ valid: 'false', found: 'v=DKIM1; p=wrong' });
});
