// The address checker combines syntax, DNS, lists, history and probes into the most serious verdict.
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { shakeHands } from '../../../../src/delivery/wire/smtp/handshake.ts';
import {
  createAddressChecker,
  type AddressCandidate,
  type AddressChecker,
  type CheckedAddress,
  type CheckOptions,
} from '../../../../src/features/validation/checks/address-checker.ts';
import { createDomainLookups } from '../../../../src/features/validation/checks/domain-lookups.ts';
import { createMailboxProbe } from '../../../../src/features/validation/checks/mailbox-probe.ts';
import type { OutsideFinding } from '../../../../src/features/validation/checks/outside-validator.ts';
import { decisiveReason, verdictOfReason } from '../../../../src/features/validation/checks/verdict.ts';
import { createResolver } from '../../../../src/platform/dns/resolver.ts';
import { createAddressPolicy } from '../../../../src/platform/egress/addresses.ts';
import { startDnsServer, type TestDnsServer } from '../../../support/dns/server.ts';
import { startMailHost, type MailHost } from '../../../support/smtp/mail-host.ts';

const PUBLIC = '93.184.216.1';
const START = 1_700_000_000_000;

let dns: TestDnsServer;
let server: MailHost;
let replyTo: (address: string, nth: number) => string;
let now: number;
let addresses = 0;
beforeEach(async () => {
  now = START;
  replyTo = () => '250 Ok';
  server = await startMailHost({ rcpt: (address, nth) => replyTo(address, nth) });
  dns = await startDnsServer({
    'acme.com': { MX: [{ exchange: 'mx.acme.com', preference: 10 }] },
    'mx.acme.com': { A: [PUBLIC] },
    'gmail.com': { MX: [{ exchange: 'mx.acme.com', preference: 10 }] },
    'mailinator.com': { A: [PUBLIC] },
    'no-mail.com': { MX: [{ exchange: '.', preference: 0 }] },
    'failing.com': 'servfail',
  });
});
afterEach(async () => {
  dns.close();
  await server.close();
});

interface Options {
  probe?: boolean;
  outside?: OutsideFinding;
  domainTimeoutMs?: number;
}

function checker({ probe = false, outside, domainTimeoutMs = 20_000 }: Options = {}): AddressChecker {
  const { isReachable } = createAddressPolicy([]);
  const lookups = createDomainLookups({
    resolver: createResolver([dns.address]),
    isReachable,
    now: () => performance.now(),
    domainTimeoutMs,
  });
  return createAddressChecker({
    lookups,
    now: () => now,
    outside: outside ? { check: () => Promise.resolve(outside) } : null,
    probe: probe
      ? createMailboxProbe({
          clientName: 'probe.carillon.test',
          perMinute: 6_000,
          isReachable,
          addressesOf: lookups.addressesOf,
          clock: { now: () => now, delay: () => Promise.resolve() },
          connect: (target) => shakeHands({ ...target, host: '127.0.0.1', port: server.port }),
        })
      : null,
  });
}

async function all(
  checking: AddressChecker,
  candidates: AddressCandidate[],
  options: Partial<CheckOptions> = {},
): Promise<CheckedAddress[]> {
  const found: CheckedAddress[] = [];
  for await (const each of checking.check(candidates, { accountId: '1', operationId: '1', ...options })) {
    found.push(each);
  }
  return found;
}

/** Checks one address. */
async function check(
  email: string,
  { candidate = {}, options = {}, ...rest }: Options & { candidate?: object; options?: object } = {},
): Promise<CheckedAddress> {
  const id = String((addresses += 1));
  const [found] = await all(checker(rest), [{ id, email, ...candidate }], options);
  if (!found) throw new Error('no result');
  expect(found.id).toBe(id);
  expect(found.verdict).toBe(verdictOfReason[found.reason]);
  return found;
}

const reasonOf = async (email: string, rest: Parameters<typeof check>[1] = {}) =>
  (await check(email, rest)).reason;

const unknownUser = (known: string) => (address: string) =>
  address === known ? '250 Ok' : '550 5.1.1 No such user';

describe('without the probe', () => {
  it('judges by syntax, DNS and lists', async () => {
    expect(await reasonOf('no address')).toBe('syntax');
    expect(await reasonOf('ann@gone.com')).toBe('no_domain');
    expect(await reasonOf('ann@no-mail.com')).toBe('null_mx');
    expect(await reasonOf('ann@failing.com')).toBe('timeout');
    expect(await reasonOf('ann@mailinator.com')).toBe('disposable');
    expect(await reasonOf('ann@box.mailinator.com')).toBe('no_domain');
    expect(await reasonOf('Info+shop@acme.com')).toBe('role');
    expect(await reasonOf('sydney@acme.com')).toBe('mailbox_not_checked');
    expect(await reasonOf('ann@acme.com')).toBe('mailbox_not_checked');
    expect(server.connections).toBe(0);
  });

  it('stores each finding', async () => {
    expect((await check('info@acme.com')).checks).toEqual({
      syntax: true,
      domain: 'exists',
      mail_server: 'mx',
      disposable: false,
      role: true,
      history: null,
      mailbox: null,
      outside: null,
    });
    expect((await check('info@no-mail.com')).checks).toMatchObject({
      domain: 'exists',
      mail_server: 'null_mx',
    });
    expect((await check('ann@gone.com')).checks).toMatchObject({ domain: 'missing', mail_server: null });
  });

  it('lets our own history decide', async () => {
    const bounced = { candidate: { history: 'bounced' } };
    const active = { candidate: { history: 'active' } };
    expect(await reasonOf('ann@acme.com', bounced)).toBe('recent_bounce');
    expect(dns.questions).toEqual([]);
    expect(await reasonOf('ann@acme.com', active)).toBe('recent_activity');
    expect(await reasonOf('ann@failing.com', active)).toBe('recent_activity');
    expect(await reasonOf('info@acme.com', active)).toBe('role');
    expect(await reasonOf('ann@gone.com', active)).toBe('no_domain');
  });

  it('suggests the provider that was probably meant', async () => {
    const suggested = async (email: string) => (await check(email)).suggestion;
    expect(await suggested('ann@gmial.com')).toBe('ann@gmail.com');
    expect(await suggested('ann@gmail.con')).toBe('ann@gmail.com');
    expect(await suggested('ann@hotmial.co.uk')).toBe('ann@hotmail.co.uk');
    expect(await suggested('ann@yahooo.de')).toBe('ann@yahoo.de');
    expect(await suggested('ann@gmail.com')).toBeNull();
    expect(await suggested('ann@acme.com')).toBeNull();
    // A working domain that resembles a provider's by chance.
    dns.zone['gmax.com'] = dns.zone['web.dk'] = { A: [PUBLIC] };
    expect(await suggested('ann@web.dk')).toBeNull();
    expect(await suggested('ann@gmax.com')).toBeNull();
  });
});

it('takes the most serious of several reasons', () => {
  expect(decisiveReason(new Set(['role', 'null_mx', 'mailbox_accepted']))).toBe('null_mx');
  expect(decisiveReason(new Set(['mailbox_accepted', 'role']))).toBe('role');
  expect(decisiveReason(new Set(['timeout', 'recent_activity']))).toBe('recent_activity');
  expect(decisiveReason(new Set())).toBe('mailbox_not_checked');
});

describe('with the probe', () => {
  const probe = true;

  it('finds mailboxes', async () => {
    replyTo = unknownUser('ann@acme.com');
    const found = await check('ann@acme.com', { probe });
    expect(found).toMatchObject({ verdict: 'deliverable', reason: 'mailbox_accepted', suggestion: null });
    expect(found.checks.mailbox).toBe('accepted');
    expect(await reasonOf('ben@acme.com', { probe })).toBe('mailbox_missing');
  });

  it('never trusts a server that accepts everything', async () => {
    expect(await check('ann@acme.com', { probe })).toMatchObject({ verdict: 'risky', reason: 'catch_all' });
  });

  it('asks again after ten minutes if the address is greylisted', async () => {
    replyTo = (address, nth) => (nth === 1 ? '450 4.7.1 Greylisted' : unknownUser('ann@acme.com')(address));
    const first = await check('ann@acme.com', { probe });
    expect(first).toMatchObject({ verdict: 'unknown', reason: 'greylisted' });
    expect(first.retryAt).toEqual(new Date(START + 600_000));
    now += 600_000;
    expect(await reasonOf('ann@acme.com', { probe, candidate: { retry: true } })).toBe('mailbox_accepted');
    replyTo = () => '450 4.7.1 Greylisted';
    const last = await check('ann@acme.com', { probe, candidate: { retry: true } });
    expect(last.reason).toBe('greylisted');
    expect(last.retryAt).toBeUndefined();
  });

  it('judges full mailboxes and refusals', async () => {
    replyTo = () => '552 5.2.2 Over quota';
    expect(await reasonOf('ann@acme.com', { probe })).toBe('mailbox_full');
    replyTo = () => '550 Rejected';
    expect(await reasonOf('ann@acme.com', { probe })).toBe('probe_refused');
  });

  it('does not ask about recipients whose verdict it cannot change', async () => {
    expect(await reasonOf('ann@mailinator.com', { probe })).toBe('disposable');
    expect(await reasonOf('ann@acme.com', { probe, candidate: { history: 'active' } })).toBe(
      'recent_activity',
    );
    expect(await reasonOf('ann@acme.com', { probe, candidate: { history: 'bounced' } })).toBe(
      'recent_bounce',
    );
    expect(server.connections).toBe(0);
  });
});

describe('with an outside validator', () => {
  const outside = (...reasons: OutsideFinding['reasons']): OutsideFinding => ({
    verdict: 'deliverable',
    reasons,
    suggestion: 'Ann@acme.com',
  });
  const options = { outsideValidator: true };

  it('asks it only for accounts with the feature', async () => {
    const finding = outside('outside_validator');
    expect(await reasonOf('ann@acme.com', { outside: finding })).toBe('mailbox_not_checked');
    expect(await check('ann@acme.com', { outside: finding, options })).toMatchObject({
      reason: 'outside_validator',
      verdict: 'deliverable',
      checks: { outside: 'deliverable', mailbox: null },
    });
  });

  it('also counts our own findings', async () => {
    const finding = outside('outside_validator');
    expect(await reasonOf('info@acme.com', { outside: finding, options })).toBe('role');
    expect(await reasonOf('ann@gone.com', { outside: finding, options })).toBe('no_domain');
    expect(await reasonOf('ann@acme.com', { outside: outside('catch_all'), options })).toBe('catch_all');
  });

  it('passes on its suggestion if the address is another one', async () => {
    const finding = outside('mailbox_missing');
    expect((await check('an@acme.com', { outside: finding, options })).suggestion).toBe('Ann@acme.com');
    expect((await check('ann@acme.com', { outside: finding, options })).suggestion).toBeNull();
  });
});

describe('a page', () => {
  it('yields each of 10,000 candidates once, although one of 100 domains does not answer', async () => {
    const domains = Array.from({ length: 100 }, (_, index) => `shop${index}.com`);
    for (const domain of domains) dns.zone[domain] = { A: [PUBLIC] };
    dns.zone['shop50.com'] = 'silent';
    const checking = checker({ domainTimeoutMs: 5_000 });
    const verdicts = new Map<string, string>();
    for (let page = 0; page < 10; page += 1) {
      const candidates = Array.from({ length: 1_000 }, (_, index) => {
        const id = String(page * 1_000 + index);
        return { id, email: `n${id}@${domains[index % 100] ?? ''}` };
      });
      for (const { id, reason } of await all(checking, candidates)) {
        expect(verdicts.has(id)).toBe(false);
        verdicts.set(id, reason);
      }
    }
    expect(verdicts.size).toBe(10_000);
    const timeouts = [...verdicts.values()].filter((reason) => reason === 'timeout');
    expect(timeouts).toHaveLength(100);
    // Each domain is looked up once: MX, CNAME, A and AAAA; the dead domain only for MX.
    expect(new Set(dns.questions).size).toBe(99 * 4 + 1);
  });

  it('yields quick results first', async () => {
    dns.zone['slow.com'] = 'silent';
    const checking = checker({ domainTimeoutMs: 500 });
    const candidates = [
      { id: 'slow', email: 'ann@slow.com' },
      { id: 'quick', email: 'not an address' },
    ];
    const found = await all(checking, candidates);
    expect(found.map(({ id }) => id)).toEqual(['quick', 'slow']);
  });

  it('ends when it is canceled', async () => {
    dns.zone['slow.com'] = 'silent';
    const canceled = new AbortController();
    const checking = checker({ domainTimeoutMs: 200 });
    const checked = all(checking, [{ id: '1', email: 'ann@slow.com' }], { signal: canceled.signal });
    canceled.abort(new Error('canceled'));
    await expect(checked).rejects.toThrow('canceled');
  });
});
