import type { Socket } from 'node:net';
import { clientNetwork } from '../../platform/auth/client-address.ts';

/** Limits the connections of each network, and how long a connection may last. */
export interface ConnectionLimits {
  /** Call for each socket that is accepted. */
  admit(socket: Socket): void;
  /** Whether the network of this address has more connections than it may. */
  exceeded(address: string): boolean;
}

/** @param max.lifetimeMs a client that sends a byte a second must not keep its connection for ever */
export function createConnectionLimits(max: { perNetwork: number; lifetimeMs: number }): ConnectionLimits {
  const open = new Map<string, number>();
  return {
    admit(socket) {
      // A client that has gone again already has no address.
      const network = clientNetwork(socket.remoteAddress ?? null);
      open.set(network, (open.get(network) ?? 0) + 1);
      const timer = setTimeout(() => socket.destroy(), max.lifetimeMs).unref();
      socket.once('close', () => {
        clearTimeout(timer);
        const left = (open.get(network) ?? 1) - 1;
        if (left > 0) open.set(network, left);
        else open.delete(network);
      });
    },
    exceeded: (address) => (open.get(clientNetwork(address)) ?? 0) > max.perNetwork,
  };
}
