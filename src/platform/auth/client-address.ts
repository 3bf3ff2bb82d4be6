import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** @returns the IP address of the client; null if it is unknown */
export type ClientAddress = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => string | null;

const WITH_PORT = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d+)?$/;

function parseAddress(text: string): Address | null {
  const [, bracketed, plain] = WITH_PORT.exec(text) ?? [];
  const bare = bracketed ?? plain ?? text;
  return isIP(bare) === 0 ? null : ipaddr.process(bare);
}

function parseRange(text: string): [Address, number] {
  if (text.includes('/')) return ipaddr.parseCIDR(text);
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

function createRangeCheck(ranges: readonly string[]): (address: Address) => boolean {
  const parsed = ranges.map(parseRange);
  return (address) => parsed.some((range) => range[0].kind() === address.kind() && address.match(range));
}

/** Decides which peers are trusted proxies. @param proxies CIDRs or single addresses (`TRUSTED_PROXIES`) */
export function createProxyCheck(proxies: readonly string[]): (address: string) => boolean {
  const isProxy = createRangeCheck(proxies);
  return (text) => {
    const address = parseAddress(text);
    return address !== null && isProxy(address);
  };
}

/**
 * Finds the client behind trusted proxies. Each proxy appends the address of its peer to X-Forwarded-For, so the
 * right-most address that is not a proxy is the client. Addresses further left may be forged.
 * @param proxies CIDRs or single addresses (`TRUSTED_PROXIES`); without any, the header is ignored
 */
export function createClientAddress(proxies: readonly string[]): ClientAddress {
  const isProxy = createRangeCheck(proxies);
  return ({ headers, socket }) => {
    let client = parseAddress(socket.remoteAddress ?? '');
    const hops = String(headers['x-forwarded-for'] ?? '').split(',');
    while (client !== null && isProxy(client)) {
      // If a proxy appended something other than an address, its own address counts.
      const peer = parseAddress(hops.pop()?.trim() ?? '');
      if (peer === null) break;
      client = peer;
    }
    return client?.toString() ?? null;
  };
}

/** The name under which clients without a known address are counted. */
export const UNKNOWN_NETWORK = 'unknown';

function networkOf(address: string | null, ipv6Bits: 48 | 64): string {
  if (address === null) return UNKNOWN_NETWORK;
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return (parsed as ipaddr.IPv6).parts.slice(0, ipv6Bits / 16).join(':');
}

/**
 * The network whose requests are counted together: an IPv4 address, or an IPv6 /64, the least that one customer has.
 * @param address from {@link ClientAddress}
 */
export const clientNetwork = (address: string | null): string => networkOf(address, 64);

/**
 * The network whose logins are counted together: like {@link clientNetwork}, but an IPv6 /48, the most that one
 * customer has.
 */
export const loginNetwork = (address: string | null): string => networkOf(address, 48);
