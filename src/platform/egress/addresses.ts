import ipaddr from 'ipaddr.js';

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number];

/**
 * IPv4 ranges without ordinary public hosts: the IANA special-purpose registry (RFC 6890 and later additions),
 * multicast, the reserved block, and the platform address of Azure, which is reachable only from inside.
 */
const blockedV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  '168.63.129.16/32',
].map(parseRange);

/** The only IPv6 block that is allocated for the public Internet (RFC 4291, section 2.4). */
const publicV6 = parseRange('2000::/3');

/** Special ranges within that block: IETF protocols with Teredo and ORCHID, documentation (two), 6to4, AS112. */
const blockedV6 = ['2001::/23', '2001:db8::/32', '3fff::/20', '2002::/16', '2620:4f:8000::/48'].map(
  parseRange,
);

function parseRange(text: string): Range {
  return ipaddr.parseCIDR(text);
}

function within(address: ipaddr.IPv4 | ipaddr.IPv6, range: Range): boolean {
  return address.kind() === range[0].kind() && address.match(range);
}

/** Decides which addresses outbound requests may reach. */
export interface AddressPolicy {
  /** Whether EGRESS_ALLOW contains the address. */
  isAllowed: (address: string) => boolean;
  /** Whether the address is public or allowed. */
  isReachable: (address: string) => boolean;
}

function parseAllowed(entry: string): Range {
  try {
    return entry.includes('/') ? parseRange(entry) : parseRange(`${entry}/${entry.includes(':') ? 128 : 32}`);
  } catch (error) {
    throw new Error(`EGRESS_ALLOW: ${entry} is not an address range such as 10.1.0.0/16`, { cause: error });
  }
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.kind() === 'ipv4') return !blockedV4.some((range) => within(address, range));
  return within(address, publicV6) && !blockedV6.some((range) => within(address, range));
}

/**
 * An IPv6 address that embeds an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo) is judged by its own range, never
 * by the embedded address. All such ranges are outside 2000::/3 or blocked, so they must be allowed explicitly.
 * @param allow CIDR ranges or single addresses
 * @throws Error naming an entry that is neither
 */
export function createAddressPolicy(allow: readonly string[]): AddressPolicy {
  const allowed = allow.map(parseAllowed);
  const check = (text: string, test: (address: ipaddr.IPv4 | ipaddr.IPv6) => boolean): boolean =>
    ipaddr.isValid(text) && test(ipaddr.parse(text));
  const isAllowed = (address: ipaddr.IPv4 | ipaddr.IPv6) => allowed.some((range) => within(address, range));
  return {
    isAllowed: (address) => check(address, isAllowed),
    isReachable: (address) => check(address, (parsed) => isAllowed(parsed) || isPublic(parsed)),
  };
}
