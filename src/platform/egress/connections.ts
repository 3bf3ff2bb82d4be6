import { buildConnector, Client, Pool, type Dispatcher } from 'undici';
import type { AddressPolicy } from './addresses.ts';
import { mendAnswers } from './answer-heads.ts';
import type { CheckedHost } from './checked-hosts.ts';
import { BlockedConnection } from './problem.ts';
import type { Target } from './target.ts';

const IDLE_POOL_MS = 60_000;
const SWEEP_MS = 15_000;
/**
 * Shorter than most servers keep an idle connection, so that a server rarely closes a connection just as it is used.
 */
const KEEP_ALIVE_MS = 4_000;
const MAX_KEEP_ALIVE_MS = 30_000;
const CONNECT_TIMEOUT_MS = 10_000;
/** Leaves time to try a second address of a host before a webhook's deadline. */
const ADDRESS_TIMEOUT_MS = 3_000;

type Connect = buildConnector.connector;
type ConnectCallback = buildConnector.Callback;

/** The open connection of a client. */
export interface Connection {
  /** Number of requests it was given before the current one. */
  uses: number;
}

/** A request with a callback that receives its connection. */
export interface TrackedRequest extends Dispatcher.DispatchOptions {
  onConnection?: (connection: Connection) => void;
}

/** A client that counts the requests of its current connection. */
class CountingClient extends Client {
  readonly #connection: Connection = { uses: 0 };

  constructor(origin: URL, options: object) {
    super(origin, options);
    this.on('connect', () => (this.#connection.uses = 0));
  }

  override dispatch(request: TrackedRequest, handler: Dispatcher.DispatchHandler): boolean {
    request.onConnection?.(this.#connection);
    return super.dispatch(request, handler);
  }
}

/** Pooled connections: one pool for each origin and its resolved addresses. */
export interface Connections {
  poolFor(target: Target, checked: CheckedHost): Pool;
  /** Opens a new connection, which the caller closes. */
  open(target: Target, checked: CheckedHost): Client;
  close(): Promise<void>;
}

interface Entry {
  pool: Pool;
  usedAt: number;
}

/** Connects to the pinned addresses, one after the other until one accepts. It never looks up a name. */
function createCheckedConnect(
  target: Target,
  checked: CheckedHost,
  policy: AddressPolicy,
  ca: string[] | undefined,
): Connect {
  const timeout = checked.addresses.length > 1 ? ADDRESS_TIMEOUT_MS : CONNECT_TIMEOUT_MS;
  const connect = buildConnector({ timeout, allowH2: false, ...(ca ? { ca } : {}) });
  const guarded =
    (callback: ConnectCallback): ConnectCallback =>
    (...[error, socket]) => {
      if (error) return callback(error, null);
      const remote = socket.remoteAddress;
      if (remote !== undefined && policy.isReachable(remote)) {
        mendAnswers(socket);
        return callback(null, socket);
      }
      socket.destroy();
      callback(new BlockedConnection(), null);
    };
  return (options, callback) => {
    const tryFrom = (index: number): void => {
      const address = checked.addresses[index];
      if (address === undefined) return callback(new BlockedConnection(), null);
      const done: ConnectCallback = (...[error, socket]) => {
        if (error && index + 1 < checked.addresses.length) return tryFrom(index + 1);
        if (error) callback(error, null);
        else callback(null, socket);
      };
      const { serverName } = target;
      connect(
        { ...options, hostname: address, ...(serverName ? { servername: serverName } : {}) },
        guarded(done),
      );
    };
    tryFrom(0);
  };
}

const clientOptions = {
  pipelining: 1,
  allowH2: false,
  keepAliveTimeout: KEEP_ALIVE_MS,
  keepAliveMaxTimeout: MAX_KEEP_ALIVE_MS,
  // The deadline of the request covers both.
  headersTimeout: 0,
  bodyTimeout: 0,
};

function createPool(target: Target, connect: Connect): Pool {
  const factory = (origin: URL, options: object) => new CountingClient(origin, options);
  return new Pool(target.origin, { ...clientOptions, connect, factory });
}

/** @param ca certificates to trust instead of the system's */
export function createConnections(policy: AddressPolicy, ca: string[] | undefined): Connections {
  const pools = new Map<string, Entry>();
  const sweep = setInterval(() => {
    const before = performance.now() - IDLE_POOL_MS;
    for (const [key, entry] of pools) {
      if (entry.usedAt > before) continue;
      pools.delete(key);
      entry.pool.close().catch(() => undefined);
    }
  }, SWEEP_MS).unref();
  return {
    poolFor(target, checked) {
      // Name servers rotate the order of the addresses.
      const key = `${target.origin}|${checked.addresses.toSorted().join()}`;
      const entry = pools.get(key) ?? {
        pool: createPool(target, createCheckedConnect(target, checked, policy, ca)),
        usedAt: 0,
      };
      entry.usedAt = performance.now();
      pools.set(key, entry);
      return entry.pool;
    },
    open(target, checked) {
      const connect = createCheckedConnect(target, checked, policy, ca);
      return new Client(target.origin, { ...clientOptions, connect });
    },
    async close() {
      clearInterval(sweep);
      await Promise.all([...pools.values()].map((entry) => entry.pool.destroy()));
      pools.clear();
    },
  };
}
