// The client address comes only from trusted proxies, and login limits count each client by it.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError, loadConfig } from '../../../src/config.ts';
import {
  clientNetwork,
  createClientAddress,
  type ClientAddress,
  loginNetwork,
} from '../../../src/platform/auth/client-address.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';

function ask(address: ClientAddress, remote: string | undefined, forwarded?: string): string | null {
  type Request = Parameters<ClientAddress>[0];
  const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
  return address({ headers, socket: { remoteAddress: remote } as Request['socket'] });
}

describe('the client address', () => {
  it('is that of the socket if no proxy is trusted', () => {
    const address = createClientAddress([]);
    expect(ask(address, '10.0.0.1', '198.51.100.7')).toBe('10.0.0.1');
    expect(ask(address, '::ffff:10.0.0.1')).toBe('10.0.0.1');
    expect(ask(address, undefined, '198.51.100.7')).toBeNull();
  });

  it.each([
    ['the address that the proxy appended', '10.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['not a forged address further left', '10.0.0.1', '203.0.113.1, 198.51.100.7', '198.51.100.7'],
    ['behind several proxies', '10.0.0.1', '203.0.113.1, 198.51.100.7, 192.0.2.9,10.3.0.1', '198.51.100.7'],
    ['the left-most address if all are proxies', '10.0.0.1', '10.0.0.9, 10.0.0.8', '10.0.0.9'],
    ['the proxy itself without the header', '10.0.0.1', undefined, '10.0.0.1'],
    ['the proxy itself if it appended no address', '10.0.0.1', '198.51.100.7, unknown', '10.0.0.1'],
    ['the socket if it is not a proxy', '198.51.100.8', '198.51.100.7', '198.51.100.8'],
    ['behind a proxy with a mapped IPv6 address', '::ffff:10.0.0.1', '198.51.100.7', '198.51.100.7'],
    ['behind an IPv6 proxy', '2001:db8::5', '2001:db8:1::7', '2001:db8:1::7'],
    ['without a port that the proxy appended', '10.0.0.1', '198.51.100.7:4711', '198.51.100.7'],
    ['without a port after an IPv6 address', '10.0.0.1', '[2001:db8:1::7]:4711', '2001:db8:1::7'],
  ])('is found: %s', (_, remote, forwarded, client) => {
    const address = createClientAddress(['10.0.0.0/8', '192.0.2.9', '2001:db8::/48']);
    expect(ask(address, remote, forwarded)).toBe(client);
  });

  it('is grouped by the /64 of an IPv6 customer', () => {
    expect(clientNetwork('2001:db8:1:2::7')).toBe(clientNetwork('2001:db8:1:2:ffff::1'));
    expect(clientNetwork('2001:db8:1:2::7')).not.toBe(clientNetwork('2001:db8:1:3::7'));
    expect(clientNetwork('192.0.2.1')).not.toBe(clientNetwork('192.0.2.2'));
    expect(clientNetwork(null)).toBe('unknown');
  });

  it('is grouped by the /48 of an IPv6 customer for logins', () => {
    expect(loginNetwork('2001:db8:1:2::7')).toBe(loginNetwork('2001:db8:1:3::7'));
    expect(loginNetwork('2001:db8:1::7')).not.toBe(loginNetwork('2001:db8:2::7'));
    expect(loginNetwork('192.0.2.1')).not.toBe(loginNetwork('192.0.2.2'));
  });
});

describe.each(['TRUSTED_PROXIES', 'EGRESS_ALLOW'])('the setting %s', (name) => {
  it('accepts ranges and single addresses', () => {
    expect(loadConfig({ [name]: '10.0.0.0/8, ::1/128,192.0.2.1' })).toMatchObject({
      [name]: ['10.0.0.0/8', '::1/128', '192.0.2.1'],
    });
  });

  it.each(['10.0.0.0/33', '10/8', 'proxy.example.com', '::1/129', '/8'])(
    'names the invalid value %s',
    (bad) => {
      const load = () => loadConfig({ [name]: `10.0.0.0/8,${bad}` });
      expect(load).toThrow(ConfigError);
      expect(load).toThrow(`${name}.1: ${bad} is not an address range such as 10.1.0.0/16`);
    },
  );
});

describe('failed logins for an email address from one network', () => {
  let api: TestApi;
  beforeAll(async () => {
    api = await startTestApi({ env: { TRUSTED_PROXIES: '127.0.0.0/8' } });
  });
  afterAll(() => api.close());

  it('are counted per client behind a trusted proxy, whatever header the client sends', async () => {
    const logIn = async (forwarded: string) => {
      const user = { email: 'ada@acme.test', password: 'guess' };
      const headers = { 'X-Forwarded-For': forwarded };
      return (await api.request('POST', '/v1/login', { token: null, body: { user }, headers })).status;
    };
    // Many more than ten, and all at once, because the count falls with time on a slow machine.
    const ofOneClient = (network: (n: number) => string) =>
      Promise.all(Array.from({ length: 40 }, (_, n) => logIn(network(n))));
    expect(new Set(await ofOneClient((n) => `203.0.113.${n}, 198.51.100.7`))).toEqual(new Set([401, 429]));
    expect(await logIn('198.51.100.8')).toBe(401);
    expect(new Set(await ofOneClient((n) => `2001:db8:1:${n}::7`))).toEqual(new Set([401, 429]));
  });
});
