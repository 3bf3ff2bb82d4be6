import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Tells from which address a request was made; null where nothing tells. */
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

/**
 * Behind proxies the socket's address is theirs; each appends to X-Forwarded-For whom it was asked by. So the
 * right-most address there that is not a proxy's is the client: what stands further left anybody may have written.
 * @param proxies CIDRs or single addresses (`TRUSTED_PROXIES`); with none the header means nothing
 */
export function createClientAddress(proxies: readonly string[]): ClientAddress {
  const ranges = proxies.map(parseRange);
  const isProxy = (address: Address) =>
    ranges.some((range) => range[0].kind() === address.kind() && address.match(range));
  return ({ headers, socket }) => {
    let client = parseAddress(socket.remoteAddress ?? '');
    const hops = String(headers['x-forwarded-for'] ?? '').split(',');
    while (client !== null && isProxy(client)) {
      // A proxy that says something else than an address leaves us with its own.
      const asked = parseAddress(hops.pop()?.trim() ?? '');
      if (asked === null) break;
      client = asked;
    }
    return client?.toString() ?? null;
  };
}

/**
 * Whose attempts count together: an IPv4 address, or the /64 that an IPv6 customer commands.
 * @param address as {@link ClientAddress} tells it
 */
export function clientNetwork(address: string | null): string {
  if (address === null) return 'unknown';
  const parsed = ipaddr.parse(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':');
}
