import ipaddr from 'ipaddr.js';

/**
 * Whose attempts count together: an IPv4 address, or the /64 that an IPv6 customer commands.
 * @param remote of the connection, as the socket tells it
 */
export function clientNetwork(remote: string | undefined): string {
  if (remote === undefined || !ipaddr.isValid(remote)) return 'unknown';
  const address = ipaddr.process(remote);
  if (address.kind() === 'ipv4') return address.toString();
  return (address as ipaddr.IPv6).parts.slice(0, 4).join(':');
}
