import { buildConnector, Client, Pool, type Dispatcher } from 'undici';
import type { AddressPolicy } from './addresses.ts';
import type { Pin } from './pins.ts';
import { BlockedConnection } from './problem.ts';
import type { Target } from './target.ts';

const IDLE_POOL_MS = 60_000;
const SWEEP_MS = 15_000;
/** Shorter than most servers keep a silent connection, so that ours is not closed under a request. */
const KEEP_ALIVE_MS = 4_000;
const KEEP_ALIVE_MOST_MS = 30_000;
const CONNECT_MS = 10_000;
/** Where there are several addresses, so that the next has its turn within a webhook's deadline. */
const CONNECT_ONE_OF_MANY_MS = 3_000;

type Connect = buildConnector.connector;
type ConnectCallback = buildConnector.Callback;

/** A client's present connection. */
export interface Connection {
  /** Requests that it was given before the present one. */
  uses: number;
}

/** A request that is told which connection it went to. */
export interface TrackedRequest extends Dispatcher.DispatchOptions {
  onConnection?: (connection: Connection) => void;
}

/** One connection at a time, which knows how often it was used. */
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

/** Kept connections, a pool for each origin and the addresses it was resolved to. */
export interface Connections {
  poolFor(target: Target, pin: Pin): Pool;
  /** A new one, which the caller closes. */
  open(target: Target, pin: Pin): Client;
  close(): Promise<void>;
}

interface Entry {
  pool: Pool;
  usedAt: number;
}

/** Connects to the pin's addresses in turn, by number: no name is looked up here. */
function createPinnedConnect(
  target: Target,
  pin: Pin,
  policy: AddressPolicy,
  ca: string[] | undefined,
): Connect {
  const timeout = pin.addresses.length > 1 ? CONNECT_ONE_OF_MANY_MS : CONNECT_MS;
  const connect = buildConnector({ timeout, allowH2: false, ...(ca ? { ca } : {}) });
  const guarded =
    (callback: ConnectCallback): ConnectCallback =>
    (...[error, socket]) => {
      if (error) return callback(error, null);
      const remote = socket.remoteAddress;
      if (remote !== undefined && policy.isReachable(remote)) return callback(null, socket);
      socket.destroy();
      callback(new BlockedConnection(), null);
    };
  return (options, callback) => {
    const tryFrom = (index: number): void => {
      const address = pin.addresses[index];
      if (address === undefined) return callback(new BlockedConnection(), null);
      const done: ConnectCallback = (...[error, socket]) => {
        if (error && index + 1 < pin.addresses.length) return tryFrom(index + 1);
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
  keepAliveMaxTimeout: KEEP_ALIVE_MOST_MS,
  // The request's own deadline covers all of it.
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
    poolFor(target, pin) {
      // Name servers give the same addresses in turning order.
      const key = `${target.origin}|${pin.addresses.toSorted().join()}`;
      const entry = pools.get(key) ?? {
        pool: createPool(target, createPinnedConnect(target, pin, policy, ca)),
        usedAt: 0,
      };
      entry.usedAt = performance.now();
      pools.set(key, entry);
      return entry.pool;
    },
    open(target, pin) {
      const connect = createPinnedConnect(target, pin, policy, ca);
      return new Client(target.origin, { ...clientOptions, connect });
    },
    async close() {
      clearInterval(sweep);
      await Promise.all([...pools.values()].map((entry) => entry.pool.destroy()));
      pools.clear();
    },
  };
}
