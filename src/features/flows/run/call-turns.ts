/**
 * Which requests of webhook steps a worker makes at once. An endpoint that does not answer must hold up neither other
 * accounts nor other hosts.
 */

/** Requests of one account at once. */
const MAX_OF_ACCOUNT = 20;
/** Requests to one host at once, from all accounts. */
const MAX_OF_HOST = 50;
/** A request that must wait comes back after a time between these. */
const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 900_000;
/** How long a request is expected to take before one was made. */
const FIRST_GUESS_MS = 1_000;
/** How much the last request changes the mean. */
const WEIGHT = 0.2;

/** The request must wait, because others are under way. The attempt does not count. */
export class CallWaitsError extends Error {
  readonly delayMs: number;

  constructor(reason: string, delayMs: number) {
    super(reason);
    this.delayMs = delayMs;
  }
}

export interface CallTurns {
  /**
   * Runs `work` if the account and the host have a request left.
   * @param host of the URL; empty: it has none
   * @throws CallWaitsError
   */
  run<T>(accountId: number, host: string, work: () => Promise<T>): Promise<T>;
}

/** What is under way for an account or to a host. */
interface Lane {
  running: number;
  meanMs: number;
  /** When the last request that must wait comes back. The next one comes behind it. */
  lastTurn: number;
}

/** The requests of one kind of lane, by account or by host. */
function createLanes(max: number, now: () => number) {
  const lanes = new Map<string, Lane>();

  return {
    /** @returns how long the request must wait; 0: it may begin */
    waitMs(key: string): number {
      const lane = lanes.get(key);
      if (!lane || lane.running < max) return 0;
      lane.lastTurn = Math.max(lane.lastTurn, now()) + lane.meanMs / max;
      return Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, lane.lastTurn - now()));
    },
    begin(key: string): void {
      const lane = lanes.get(key) ?? { running: 0, meanMs: FIRST_GUESS_MS, lastTurn: 0 };
      lane.running += 1;
      lanes.set(key, lane);
    },
    end(key: string, tookMs: number): void {
      const lane = lanes.get(key);
      if (!lane) return;
      lane.running -= 1;
      lane.meanMs += WEIGHT * (tookMs - lane.meanMs);
      if (lane.running === 0) lanes.delete(key);
    },
  };
}

/** @param now in milliseconds; the clock of the process by default */
export function createCallTurns(now: () => number = () => performance.now()): CallTurns {
  const accounts = createLanes(MAX_OF_ACCOUNT, now);
  const hosts = createLanes(MAX_OF_HOST, now);

  return {
    async run(accountId, host, work) {
      const account = String(accountId);
      const forAccount = accounts.waitMs(account);
      if (forAccount > 0) {
        throw new CallWaitsError(
          `waits: ${MAX_OF_ACCOUNT} requests of the account are under way`,
          forAccount,
        );
      }
      const forHost = hosts.waitMs(host);
      if (forHost > 0) {
        throw new CallWaitsError(`waits: ${MAX_OF_HOST} requests to the host are under way`, forHost);
      }
      const began = now();
      accounts.begin(account);
      hosts.begin(host);
      try {
        return await work();
      } finally {
        accounts.end(account, now() - began);
        hosts.end(host, now() - began);
      }
    },
  };
}
