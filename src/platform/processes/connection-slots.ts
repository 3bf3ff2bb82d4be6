/** Refusals are reported at most once in this time. */
const REPORT_INTERVAL_MS = 30_000;

export interface ConnectionSlotsOptions<Connection> {
  /** Maximum number of connections of the server. */
  max: number;
  /** Maximum number of connections of one network. */
  maxPerNetwork: number;
  /** Closes a connection whose place another one takes. It counts no more, however long that lasts. */
  close: (connection: Connection) => void;
  /** Called from time to time while connections are refused. */
  report: (fields: { connections: number }) => void;
}

/** Limits the number of connections of a server, in total and for each network. */
export interface ConnectionSlots<Connection> {
  /**
   * Admits a connection, which counts as idle. If there are too many, first closes the connection that has been idle
   * longest, of its network or of all, for which a client must be prepared at any time.
   * @param network null: the maximum of a network does not apply
   * @returns false if none is idle: refuse the connection
   */
  admit(connection: Connection, network: string | null): boolean;
  /** The connection is busy: it will not be closed. */
  begin(connection: Connection): void;
  /** The connection is idle again, from now on. */
  end(connection: Connection): void;
  /** The connection is closed. May be called more than once. */
  forget(connection: Connection): void;
}

/** The connections of one network, or of all. */
interface Group<Connection> {
  count: number;
  /** The idle connections, the one that has been idle longest first. */
  idle: Set<Connection>;
}

/** The open connections, in total and by network. */
class OpenConnections<Connection> {
  readonly all: Group<Connection> = { count: 0, idle: new Set() };
  readonly #byNetwork = new Map<string, Group<Connection>>();
  /** Null: of no network. */
  readonly #networks = new Map<Connection, string | null>();

  /** @returns undefined if the network has no connection */
  ofNetwork(network: string): Group<Connection> | undefined {
    return this.#byNetwork.get(network);
  }

  groupsOf(connection: Connection): Group<Connection>[] {
    const network = this.#networks.get(connection);
    if (network === undefined) return [];
    const own = network === null ? undefined : this.#byNetwork.get(network);
    return own ? [this.all, own] : [this.all];
  }

  add(connection: Connection, network: string | null): void {
    this.#networks.set(connection, network);
    if (network !== null && !this.#byNetwork.has(network))
      this.#byNetwork.set(network, { count: 0, idle: new Set() });
    for (const group of this.groupsOf(connection)) {
      group.count += 1;
      group.idle.add(connection);
    }
  }

  forget(connection: Connection): void {
    for (const group of this.groupsOf(connection)) {
      group.count -= 1;
      group.idle.delete(connection);
    }
    const network = this.#networks.get(connection);
    if (typeof network === 'string' && this.#byNetwork.get(network)?.count === 0) {
      this.#byNetwork.delete(network);
    }
    this.#networks.delete(connection);
  }
}

export function createConnectionSlots<Connection>(
  options: ConnectionSlotsOptions<Connection>,
): ConnectionSlots<Connection> {
  const { max, maxPerNetwork, close, report } = options;
  const open = new OpenConnections<Connection>();
  let reportedAtMs = -Infinity;

  /** Makes room for one more. */
  function hasRoom(group: Group<Connection> | undefined, limit: number): boolean {
    if (!group || group.count < limit) return true;
    const [oldest] = group.idle;
    if (oldest === undefined) return false;
    open.forget(oldest);
    close(oldest);
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
    admit(connection, network) {
      // A network with too many connections closes its own, never those of others.
      const own = network === null ? undefined : open.ofNetwork(network);
      if (!hasRoom(own, maxPerNetwork) || !hasRoom(open.all, max)) return refuse();
      open.add(connection, network);
      return true;
    },
    begin(connection) {
      for (const group of open.groupsOf(connection)) group.idle.delete(connection);
    },
    end(connection) {
      for (const group of open.groupsOf(connection)) group.idle.add(connection);
    },
    forget: (connection) => open.forget(connection),
  };
}
