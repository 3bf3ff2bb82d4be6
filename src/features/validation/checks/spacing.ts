import ipaddr from 'ipaddr.js';
import { LRUCache } from 'lru-cache';
import { getDomain } from 'tldts';

const MAX_KEYS = 20_000;
const MINUTE_MS = 60_000;
/** The servers of one network together may be asked this many times as often as one server. */
const NETWORK_FACTOR = 4;

/** Limits how often mail servers are asked. */
export interface Spacing {
  /**
   * Reserves the next time at which the host's operator, its address and its network may all be asked. Anyone who owns
   * a domain can point it at any host, so limits by name alone would not protect a server.
   * @returns how long to wait until then, in ms
   */
  reserve(host: string, address: string): number;
}

/** @returns the first three numbers of an IPv4 address (/24), or groups of an IPv6 address (/48) */
function networkOf(address: string): string {
  const parsed = ipaddr.parse(address);
  const separator = parsed.kind() === 'ipv4' ? '.' : ':';
  return parsed.toNormalizedString().split(separator, 3).join(separator);
}

/**
 * @param perMinute how many times per minute an operator, and an address, may be asked
 * @param now in milliseconds
 */
export function createSpacing(perMinute: number, now: () => number): Spacing {
  const freeAt = new LRUCache<string, number>({ max: MAX_KEYS });
  const everyMs = MINUTE_MS / perMinute;
  return {
    reserve(host, address) {
      const spaces = [
        { key: `operator ${getDomain(host) ?? host}`, everyMs },
        { key: `address ${address}`, everyMs },
        { key: `network ${networkOf(address)}`, everyMs: everyMs / NETWORK_FACTOR },
      ];
      const at = Math.max(now(), ...spaces.map(({ key }) => freeAt.get(key) ?? 0));
      for (const space of spaces) freeAt.set(space.key, at + space.everyMs);
      return at - now();
    },
  };
}
