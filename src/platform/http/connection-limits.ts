import type { Socket } from 'node:net';
import { clientNetwork, createClientAddress, createProxyCheck } from '../auth/client-address.ts';

/** Refusals are reported at most once in this time. */
const REPORT_INTERVAL_MS = 30_000;

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
   * longest, for which a client must be prepared at any time.
   * @returns false if none is idle: close the connection
   */
  admit(socket: Socket): boolean;
  /** A request has arrived. */
  begin(socket: Socket): void;
  /** No response is pending any more. */
  end(socket: Socket): void;
}

/** The connections of one network, or of all. */
interface Group {
  count: number;
  /** The connections without a pending response, the one that has been idle longest first. */
  idle: Set<Socket>;
}

const emptyGroup = (): Group => ({ count: 0, idle: new Set() });

/** The open connections, in total and by network. */
class OpenConnections {
  readonly all = emptyGroup();
  readonly #byNetwork = new Map<string, Group>();
  /** Null for a proxy. */
  readonly #networks = new Map<Socket, string | null>();

  /** @returns undefined if the network has no connection */
  ofNetwork(network: string): Group | undefined {
    return this.#byNetwork.get(network);
  }

  groupsOf(socket: Socket): Group[] {
    const network = this.#networks.get(socket);
    if (network === undefined) return [];
    const own = network === null ? undefined : this.#byNetwork.get(network);
    return own ? [this.all, own] : [this.all];
  }

  add(socket: Socket, network: string | null): void {
    this.#networks.set(socket, network);
    if (network !== null && !this.#byNetwork.has(network)) this.#byNetwork.set(network, emptyGroup());
    for (const group of this.groupsOf(socket)) {
      group.count += 1;
      group.idle.add(socket);
    }
  }

  /** May be called more than once. */
  forget(socket: Socket): void {
    for (const group of this.groupsOf(socket)) {
      group.count -= 1;
      group.idle.delete(socket);
    }
    const network = this.#networks.get(socket);
    if (typeof network === 'string' && this.#byNetwork.get(network)?.count === 0) {
      this.#byNetwork.delete(network);
    }
    this.#networks.delete(socket);
  }
}

export function createConnectionLimits(options: ConnectionLimitOptions): ConnectionLimits {
  const { max, maxPerAddress, proxies, report } = options;
  const isProxy = createProxyCheck(proxies);
  const peerAddress = createClientAddress([]);
  const open = new OpenConnections();
  let reportedAtMs = -Infinity;

  /** Makes room for one more. */
  function hasRoom(group: Group | undefined, limit: number): boolean {
    if (!group || group.count < limit) return true;
    const [oldest] = group.idle;
    if (!oldest) return false;
    open.forget(oldest);
    oldest.destroy();
    return true;
  }

  function refuse(): false {
    const now = performance.now();
    if (now - reportedAtMs >= REPORT_INTERVAL_MS) {
      reportedAtMs = now;
      report({ connections: open.all.count });
    }
    return false;
  }

  return {
    admit(socket) {
      const address = peerAddress({ headers: {}, socket });
      const network = address !== null && isProxy(address) ? null : clientNetwork(address);
      const own = network === null ? undefined : open.ofNetwork(network);
      if (!hasRoom(own, maxPerAddress) || !hasRoom(open.all, max)) return refuse();
      open.add(socket, network);
      socket.once('close', () => open.forget(socket));
      return true;
    },
    begin(socket) {
      for (const group of open.groupsOf(socket)) group.idle.delete(socket);
    },
    end(socket) {
      for (const group of open.groupsOf(socket)) group.idle.add(socket);
    },
  };
}
