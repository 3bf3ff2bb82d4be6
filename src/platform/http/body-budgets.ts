import { Overload } from '../../errors.ts';

const MIB = 1024 * 1024;

/**
 * The groups of callers that have separate budgets: callers with a key, strangers, and providers with a genuine token.
 */
export type BudgetName = 'account' | 'stranger' | 'provider';

/**
 * Maximum number of bytes of bodies that one process has in memory: from all callers of a group, and from each of them.
 */
const BUDGETS: Record<BudgetName, { all: number; each: number }> = {
  account: { all: 64 * MIB, each: 16 * MIB },
  stranger: { all: 8 * MIB, each: MIB },
  provider: { all: 8 * MIB, each: 8 * MIB },
};
/** Maximum number of files that one process stores while they arrive. They are not in memory, and take minutes. */
const MAX_UPLOADS = 16;
const RETRY_AFTER_SECONDS = 1;
const RETRY_UPLOAD_SECONDS = 10;
/** Refusals by a budget are reported at most once in this time, so that a stranger cannot fill the log. */
const REPORT_INTERVAL_MS = 30_000;

/** Counts the body of one request. */
export interface BodyMeter {
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
 * Limits the bodies that a process has in memory. Only received bytes count, because a client can put anything into
 * Content-Length.
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

/** @param report called from time to time while bodies are refused */
export function createBodyBudgets(
  report: (fields: { budget: BudgetName }) => void,
  nowMs: () => number = () => performance.now(),
): BodyBudgets {
  const totals: Record<BudgetName, number> = { account: 0, stranger: 0, provider: 0 };
  const callers = new Map<string, number>();
  let uploads = 0;
  const reportedAtMs: Record<BudgetName, number> = {
    account: -Infinity,
    stranger: -Infinity,
    provider: -Infinity,
  };

  function refuse(budget: BudgetName): never {
    if (nowMs() - reportedAtMs[budget] >= REPORT_INTERVAL_MS) {
      reportedAtMs[budget] = nowMs();
      report({ budget });
    }
    throw new Overload('too many requests are being received; try again', RETRY_AFTER_SECONDS);
  }

  return {
    open(name, caller) {
      const { all, each } = BUDGETS[name];
      const key = `${name} ${caller}`;
      let taken = 0;
      let released = false;
      const change = (bytes: number) => {
        const now = (callers.get(key) ?? 0) + bytes;
        totals[name] += bytes;
        taken += bytes;
        if (now > 0) callers.set(key, now);
        else callers.delete(key);
      };
      return {
        take(bytes) {
          if (released) return;
          const exceeds = totals[name] + bytes > all || (callers.get(key) ?? 0) + bytes > each;
          if (exceeds) refuse(name);
          change(bytes);
        },
        release() {
          released = true;
          change(-taken);
        },
      };
    },
    enterUpload() {
      if (uploads >= MAX_UPLOADS) throw new Overload('too many files are arriving', RETRY_UPLOAD_SECONDS);
      uploads += 1;
      return () => void (uploads -= 1);
    },
  };
}
