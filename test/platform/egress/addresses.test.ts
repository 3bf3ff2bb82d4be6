// The address policy blocks every private or special address unless EGRESS_ALLOW contains it.
import { describe, expect, it } from '@jest/globals';
import { createAddressPolicy } from '../../../src/platform/egress/addresses.ts';

const nothingAllowed = createAddressPolicy([]);

describe('an address policy without EGRESS_ALLOW', () => {
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '93.184.216.34',
    '192.0.1.1',
    '172.32.0.1',
    '100.128.0.1',
    '223.255.255.254',
  ])('allows public IPv4 %s', (address) => expect(nothingAllowed.isReachable(address)).toBe(true));
  it.each(['2606:4700:4700::1111', '2a00:1450:4001:800::200e', '2001:4860:4860::8888', '2001:200::1'])(
    'allows public IPv6 %s',
    (address) => expect(nothingAllowed.isReachable(address)).toBe(true),
  );
  it.each([
    ['this network', '0.0.0.0'],
    ['this network', '0.1.2.3'],
    ['private', '10.255.255.255'],
    ['shared', '100.64.0.1'],
    ['loopback', '127.0.0.1'],
    ['loopback', '127.255.255.254'],
    ['link-local, and cloud metadata', '169.254.169.254'],
    ['private', '172.16.0.1'],
    ['private', '172.31.255.255'],
    ['IETF protocols', '192.0.0.8'],
    ['documentation', '192.0.2.1'],
    ['6to4 relay', '192.88.99.1'],
    ['private', '192.168.1.1'],
    ['benchmarking', '198.19.0.1'],
    ['documentation', '198.51.100.1'],
    ['documentation', '203.0.113.1'],
    ['multicast', '224.0.0.1'],
    ['reserved', '240.0.0.1'],
    ['broadcast', '255.255.255.255'],
    ['Azure’s platform', '168.63.129.16'],
    ['unspecified', '::'],
    ['loopback', '::1'],
    ['IPv4-mapped private', '::ffff:127.0.0.1'],
    ['IPv4-mapped public', '::ffff:8.8.8.8'],
    ['IPv4-compatible', '::8.8.8.8'],
    ['IPv4-translated', '::ffff:0:8.8.8.8'],
    ['NAT64', '64:ff9b::808:808'],
    ['local NAT64', '64:ff9b:1::808:808'],
    ['discard', '100::1'],
    ['Teredo', '2001::1'],
    ['ORCHID', '2001:20::1'],
    ['documentation', '2001:db8::1'],
    ['6to4', '2002:808:808::1'],
    ['documentation', '3fff::1'],
    ['AS112', '2620:4f:8000::1'],
    ['segment routing', '5f00::1'],
    ['unique local', 'fd00::1'],
    ['link-local', 'fe80::1'],
    ['site-local', 'fec0::1'],
    ['multicast', 'ff02::1'],
    ['no address at all', 'localhost'],
    ['nothing', ''],
  ])('blocks %s: %s', (_kind, address) => expect(nothingAllowed.isReachable(address)).toBe(false));
});

describe('EGRESS_ALLOW', () => {
  const policy = createAddressPolicy(['127.0.0.0/8', '::1/128', '10.1.2.3']);
  it('allows private ranges and single addresses', () => {
    expect(['127.0.0.1', '127.9.9.9', '::1', '10.1.2.3'].map(policy.isReachable)).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(['10.1.2.4', '::2', 'fd00::1'].map(policy.isReachable)).toEqual([false, false, false]);
  });
  it('does not allow an IPv6 address that embeds an allowed IPv4 address', () => {
    expect(policy.isReachable('::ffff:127.0.0.1')).toBe(false);
    expect(policy.isAllowed('::ffff:7f00:1')).toBe(false);
  });
  it('leaves public addresses reachable, but not over plain HTTP', () => {
    expect([policy.isReachable('1.1.1.1'), policy.isAllowed('1.1.1.1')]).toEqual([true, false]);
  });
  it('names an entry that is not an address range', () => {
    expect(() => createAddressPolicy(['127.0.0.0/8', 'localhost'])).toThrow(/EGRESS_ALLOW: localhost/);
  });
});
