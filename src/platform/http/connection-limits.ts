import type { Socket } from 'node:net';
import { clientNetwork, createClientAddress, createProxyCheck } from '../auth/client-address.ts';
import { createConnectionSlots } from '../processes/connection-slots.ts';

export interface ConnectionLimitOptions {
  /** Maximum number of connections of the process. */
  max: number;
  /** Maximum number of connections of one IPv4 address, or of the /64 that one IPv6 customer controls. */
  maxPerAddress: number;
  /** CIDRs to which `maxPerAddress` does not apply, because there are many clients behind a proxy. */
  proxies: readonly string[];
  /** Called from time to time while connections are refused. */
  report: (fields: { connections: number }) => void;
}

/** Limits the number of connections of a server. */
export interface ConnectionLimits {
  /**
   * Admits a connection, which counts as idle. If there are too many, first closes the connection that has been idle
   * longest.
   * @returns false if none is idle: close the connection
   */
  admit(socket: Socket): boolean;
  /** A request has arrived. */
  begin(socket: Socket): void;
  /** No response is pending any more. */
  end(socket: Socket): void;
}

export function createConnectionLimits(options: ConnectionLimitOptions): ConnectionLimits {
  const { max, maxPerAddress, proxies, report } = options;
  const isProxy = createProxyCheck(proxies);
  const peerAddress = createClientAddress([]);
  const slots = createConnectionSlots<Socket>({
    max,
    maxPerNetwork: maxPerAddress,
    close: (socket) => socket.destroy(),
    report,
  });
  return {
    admit(socket) {
      const address = peerAddress({ headers: {}, socket });
      const network = address !== null && isProxy(address) ? null : clientNetwork(address);
      if (!slots.admit(socket, network)) return false;
      socket.once('close', () => slots.forget(socket));
      return true;
    },
    begin: (socket) => slots.begin(socket),
    end: (socket) => slots.end(socket),
  };
}
