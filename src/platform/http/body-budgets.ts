import { Overload } from '../../errors.ts';

const MIB = 1024 * 1024;

/**
 * The groups of callers that have separate budgets: callers with a key, strangers, and providers with a genuine token.
 */
export type BudgetName = 'account' | 'stranger' | 'provider';

/**
 * Maximum number of bytes of bodies that one process has in memory: from all callers of a group, and from each of them.
 * A large body begins only while its group has fewer than `large`: what becomes of it, such as decoded files, takes
 * several times its size.
 */
const BUDGETS: Record<BudgetName, { all: number; each: number; large: number }> = {
  account: { all: 64 * MIB, each: 16 * MIB, large: 36 * MIB },
  stranger: { all: 8 * MIB, each: MIB, large: 8 * MIB },
  provider: { all: 8 * MIB, each: 8 * MIB, large: 8 * MIB },
};
/** Maximum number of files that one process stores while they arrive. They are not in memory, and take minutes. */
const MAX_UPLOADS = 16;
const LARGE_BODY = MIB;
const RESERVED_MS = 5_000;
const RETRY_AFTER_SECONDS = 1;
const RETRY_LARGE_SECONDS = 2;
const RETRY_UPLOAD_SECONDS = 10;
/** Refusals by a budget are reported at most once in this time, so that a stranger cannot fill the log. */
const REPORT_INTERVAL_MS = 30_000;

/** Counts the body of one request. */
export interface BodyMeter {
  /**
   * Makes room for a large body before it is read: of many that arrive at once, some are received and the others are
   * refused at once, instead of all when each has arrived in part. A client can put anything into Content-Length, so what
   * is announced counts only against other large bodies, and for five seconds.
   * @param bytes `Content-Length`
   * @returns whether the body is large
   * @throws Overload if the body would exceed a budget
   */
  reserve(bytes: number): boolean;
  /**
   * Counts bytes that have arrived.
   * @throws Overload if they exceed a budget
   */
  take(bytes: number): void;
  /**
   * Call this when the handler has ended, because the body is in memory until then. Bytes taken afterwards do not
   * count.
   */
  release(): void;
}

/**
 * Limits the bodies that a process has in memory. Only received bytes count, except while large bodies begin.
 */
export interface BodyBudgets {
  /** @param caller an account, or a network */
  open(name: BudgetName, caller: string): BodyMeter;
  /**
   * Counts a file that is stored while it arrives.
   * @returns a function to call when the request has ended
   * @throws Overload if too many are arriving
   */
  enterUpload(): () => void;
}

/** Sums of bytes: of each group of callers, and of each caller. */
function createSums() {
  const groups: Record<BudgetName, number> = { account: 0, stranger: 0, provider: 0 };
  const callers = new Map<string, number>();
  return {
    total: (name: BudgetName) => groups[name],
    of: (caller: string) => callers.get(caller) ?? 0,
    add(name: BudgetName, caller: string, bytes: number): void {
      if (bytes === 0) return;
      const now = (callers.get(caller) ?? 0) + bytes;
      groups[name] += bytes;
      if (now > 0) callers.set(caller, now);
      else callers.delete(caller);
    },
  };
}

type Sums = ReturnType<typeof createSums>;

interface Counts {
  received: Sums;
  /** Of large bodies, what has yet to arrive. */
  announced: Sums;
  /** @throws Overload */
  refuse(budget: BudgetName, retryAfterSeconds?: number): never;
}

/** Counts the body of a request. @param key the caller in the sums */
function createMeter(name: BudgetName, key: string, counts: Counts): BodyMeter {
  const { received, announced } = counts;
  const { all, each, large } = BUDGETS[name];
  let taken = 0;
  let released = false;
  const change = (bytes: number) => {
    received.add(name, key, bytes);
    taken += bytes;
  };
  /** What is announced, and not received yet. */
  let awaited = 0;
  let expiry: NodeJS.Timeout | undefined;
  const announce = (bytes: number) => {
    announced.add(name, key, bytes);
    awaited += bytes;
  };
  return {
    reserve(bytes) {
      if (bytes <= LARGE_BODY) return false;
      const exceeds =
        received.total(name) + announced.total(name) + bytes > large ||
        received.of(key) + announced.of(key) + bytes > each;
      if (exceeds) counts.refuse(name, RETRY_LARGE_SECONDS);
      announce(bytes);
      expiry = setTimeout(() => announce(-awaited), RESERVED_MS).unref();
      return true;
    },
    take(bytes) {
      if (released) return;
      if (received.total(name) + bytes > all || received.of(key) + bytes > each) counts.refuse(name);
      change(bytes);
      announce(-Math.min(bytes, awaited));
    },
    release() {
      released = true;
      clearTimeout(expiry);
      change(-taken);
      announce(-awaited);
    },
  };
}

/** @param report called from time to time while bodies are refused */
export function createBodyBudgets(
  report: (fields: { budget: BudgetName }) => void,
  nowMs: () => number = () => performance.now(),
): BodyBudgets {
  const received = createSums();
  const announced = createSums();
  let uploads = 0;
  const reportedAtMs: Record<BudgetName, number> = {
    account: -Infinity,
    stranger: -Infinity,
    provider: -Infinity,
  };

  function refuse(budget: BudgetName, retryAfterSeconds = RETRY_AFTER_SECONDS): never {
    if (nowMs() - reportedAtMs[budget] >= REPORT_INTERVAL_MS) {
      reportedAtMs[budget] = nowMs();
      report({ budget });
    }
    throw new Overload('too many requests are being received; try again', retryAfterSeconds);
  }

  return {
    open: (name, caller) => createMeter(name, `${name} ${caller}`, { received, announced, refuse }),
    enterUpload() {
      if (uploads >= MAX_UPLOADS) throw new Overload('too many files are arriving', RETRY_UPLOAD_SECONDS);
      uploads += 1;
      return () => void (uploads -= 1);
    },
  };
}
