// DNS look-ups classify domains, cache results, share capacity fairly, and never reveal internal names.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { DomainFinding } from '../../../../src/features/validation/checks/mail-hosts.ts';
import { createDomainLookups } from '../../../../src/features/validation/checks/domain-lookups.ts';
import { createResolver } from '../../../../src/platform/dns/resolver.ts';
import { createAddressPolicy } from '../../../../src/platform/egress/addresses.ts';
import { startDnsServer, type TestDnsServer } from '../../../support/dns/server.ts';

const PUBLIC = '93.184.216.1';
/** Long enough for a busy machine. */
const PATIENT_MS = 10_000;
const DEAD_MS = 1_000;
const question = { accountId: '1', operationId: '1' };

let dns: TestDnsServer;
let clock = 0;
beforeAll(async () => {
  dns = await startDnsServer();
});
afterAll(() => dns.close());
beforeEach(() => {
  dns.zone = {};
  dns.questions = [];
  clock = 0;
});

function lookups(domainTimeoutMs = PATIENT_MS) {
  return createDomainLookups({
    resolver: createResolver([dns.address]),
    isReachable: createAddressPolicy([]).isReachable,
    // Real time passes, too, so that a look-up keeps its limit.
    now: () => performance.now() + clock,
    domainTimeoutMs,
  });
}

const mx = (...exchanges: string[]) => ({
  MX: exchanges.map((exchange, index) => ({ exchange, preference: (index + 1) * 10 })),
});

/** Names for which no server on the way answers. */
const silent = (names: string[]) => Object.fromEntries(names.map((name) => [name, 'silent' as const]));

describe('a look-up', () => {
  const find = (domain: string) => lookups().find(domain, question);

  it('finds the mail hosts, most preferred first', async () => {
    dns.zone = {
      'acme.com': {
        MX: [
          { exchange: 'b.mail.net', preference: 20 },
          { exchange: 'A.mail.net', preference: 10 },
        ],
      },
      'a.mail.net': { A: [PUBLIC] },
    };
    expect(await find('acme.com')).toEqual({
      kind: 'accepts_mail',
      via: 'mx',
      hosts: [
        { name: 'a.mail.net', addresses: [PUBLIC] },
        { name: 'b.mail.net', addresses: [] },
      ],
    });
  });

  it('takes the address of a domain without MX records', async () => {
    dns.zone = { 'acme.com': { A: [PUBLIC] }, 'six.com': { AAAA: ['2606:2800::1'] } };
    const hosts = [{ name: 'acme.com', addresses: [PUBLIC] }];
    expect(await find('acme.com')).toEqual({ kind: 'accepts_mail', via: 'address', hosts });
    expect(await find('six.com')).toMatchObject({ kind: 'accepts_mail', via: 'address' });
  });

  it.each<[string, TestDnsServer['zone'], DomainFinding['kind']]>([
    ['a domain that does not exist', {}, 'no_domain'],
    ['a domain without MX and address', { 'acme.com': { TXT: ['x'] } }, 'no_mail_server'],
    ['a null MX', { 'acme.com': { ...mx('.'), A: [PUBLIC] } }, 'null_mx'],
    ['an MX without an address', { 'acme.com': mx('gone.net') }, 'no_mail_server'],
    [
      'an MX at a private address',
      { 'acme.com': mx('in.net'), 'in.net': { A: ['10.0.0.1'] } },
      'no_mail_server',
    ],
    ['an MX at this machine', { 'acme.com': mx('localhost') }, 'no_mail_server'],
    ['a domain at a private address', { 'acme.com': { A: ['192.168.0.1'] } }, 'no_mail_server'],
    ['SERVFAIL', { 'acme.com': 'servfail' }, 'timeout'],
    ['an MX whose name servers fail', { 'acme.com': mx('in.net'), 'in.net': 'servfail' }, 'timeout'],
  ])('judges %s', async (_what, zone, kind) => {
    dns.zone = zone;
    expect(await find('acme.com')).toEqual({ kind });
  });

  it('drops private addresses among public ones', async () => {
    dns.zone = { 'acme.com': mx('in.net'), 'in.net': { A: ['10.0.0.1', PUBLIC] } };
    expect(await find('acme.com')).toMatchObject({ hosts: [{ name: 'in.net', addresses: [PUBLIC] }] });
  });

  it('gives the same answer for an internal name without mail servers and one that does not exist', async () => {
    dns.zone = { 'db.corp': { A: ['10.0.0.5'] }, 'wiki.corp': { TXT: ['x'] } };
    const found = await Promise.all(['db.corp', 'wiki.corp', 'gone.corp'].map(find));
    expect(found).toEqual(found.map(() => ({ kind: 'no_domain' })));
  });

  it('does not reveal through an alias whether an internal name exists', async () => {
    dns.zone = {
      'alias1.com': { CNAME: 'db.corp' },
      'alias2.com': { CNAME: 'gone.corp' },
      'db.corp': { A: ['10.0.0.5'] },
    };
    const found = await Promise.all(['alias1.com', 'alias2.com'].map(find));
    expect(found).toEqual(found.map(() => ({ kind: 'no_mail_server' })));
  });

  it('does not wait longer for an alias', async () => {
    // MX: there is no such name. CNAME: no answer.
    const answer = () => (dns.questions.at(-1)?.startsWith('CNAME') ? 'silent' : undefined);
    Object.defineProperty(dns.zone, 'alias.com', { get: answer, enumerable: true });
    expect(await lookups(DEAD_MS).find('alias.com', question)).toEqual({ kind: 'timeout' });
    // With a look-up of its own in that time, the name would be queried twice.
    expect(dns.questions.filter((question) => question === 'CNAME alias.com')).toHaveLength(1);
  });

  it('ends after its time limit', async () => {
    dns.zone = silent(['dead.com']);
    expect(await lookups(DEAD_MS).find('dead.com', question)).toEqual({ kind: 'timeout' });
  });
});

describe('the cache', () => {
  it('asks once for many candidates, at the same time and later', async () => {
    dns.zone = { 'acme.com': mx('mx.net'), 'other.com': mx('mx.net'), 'mx.net': { A: [PUBLIC] } };
    const all = lookups();
    await Promise.all(Array.from({ length: 50 }, () => all.find('acme.com', question)));
    await all.find('acme.com', { accountId: '2', operationId: '2' });
    await all.find('other.com', question);
    expect(dns.questions.toSorted()).toEqual(['A mx.net', 'AAAA mx.net', 'MX acme.com', 'MX other.com']);
  });

  it('asks again after an hour, or after five minutes if the name was missing', async () => {
    dns.zone = { 'acme.com': { A: [PUBLIC] } };
    const all = lookups();
    const asked = async (name: string) => {
      dns.questions = [];
      await all.find(name, question);
      return dns.questions.length > 0;
    };
    expect([await asked('acme.com'), await asked('gone.com')]).toEqual([true, true]);
    expect([await asked('acme.com'), await asked('gone.com')]).toEqual([false, false]);
    clock += 301_000;
    expect([await asked('acme.com'), await asked('gone.com')]).toEqual([false, true]);
    clock += 3_600_000;
    expect(await asked('acme.com')).toBe(true);
  });

  it('keeps SERVFAIL only for the same operation', async () => {
    dns.zone = { 'acme.com': 'servfail' };
    const all = lookups();
    expect(await all.find('acme.com', question)).toEqual({ kind: 'timeout' });
    dns.zone = { 'acme.com': { A: [PUBLIC] } };
    expect(await all.find('acme.com', question)).toEqual({ kind: 'timeout' });
    expect(await all.find('acme.com', { ...question, operationId: '2' })).toMatchObject({
      kind: 'accepts_mail',
    });
    dns.zone = { 'down.com': 'servfail' };
    await all.find('down.com', question);
    dns.zone = { 'down.com': { A: [PUBLIC] } };
    all.forget('1');
    expect(await all.find('down.com', question)).toMatchObject({ kind: 'accepts_mail' });
  });
});

describe('a registrable domain that does not answer', () => {
  const names = Array.from({ length: 40 }, (_, index) => `d${index}.dead.co.uk`);

  it('is queried for five names, but no more in this operation', async () => {
    dns.zone = { ...silent(names), 'alive.co.uk': { A: [PUBLIC] } };
    const all = lookups(DEAD_MS);
    const found = await Promise.all(names.map((name) => all.find(name, question)));
    expect(found).toEqual(found.map(() => ({ kind: 'timeout' })));
    expect(new Set(dns.questions).size).toBe(5);
    // Another name below co.uk belongs to another owner.
    await all.find('alive.co.uk', question);
    expect(dns.questions).toContain('MX alive.co.uk');
    const before = new Set(dns.questions).size;
    await all.find('d0.dead.co.uk', { ...question, operationId: '2' });
    expect(new Set(dns.questions).size).toBe(before);
    expect(dns.questions.filter((asked) => asked === 'MX d0.dead.co.uk').length).toBeGreaterThan(1);
  });

  it('is queried for at most a thousand names in an hour by one account', async () => {
    const all = lookups();
    const many = Array.from({ length: 1_200 }, (_, index) => `h${index}.victim.com`);
    const found = await Promise.all(many.map((name) => all.find(name, question)));
    expect(dns.questions.filter((asked) => asked.startsWith('MX'))).toHaveLength(1_000);
    expect(found.filter(({ kind }) => kind === 'timeout')).toHaveLength(200);
    const other = { accountId: '2', operationId: '2' };
    expect(await all.find('other.victim.com', other)).toEqual({ kind: 'no_domain' });
  });
});

describe('accounts', () => {
  it('get a place before an account that has many', async () => {
    dns.zone = silent(Array.from({ length: 300 }, (_, index) => `dead${index}.com`));
    const all = lookups(DEAD_MS);
    let slowEnded = 0;
    const slow = Object.keys(dns.zone).map((name) =>
      all.find(name, question).then(() => {
        slowEnded += 1;
      }),
    );
    const quick = ['a.com', 'b.com', 'c.com'].map((name) =>
      all.find(name, { accountId: '2', operationId: '2' }),
    );
    await Promise.all(quick);
    // The first account's 300 names take four rounds.
    expect(slowEnded).toBeLessThan(240);
    await Promise.all(slow);
  });
});
