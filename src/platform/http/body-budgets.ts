import { Overload } from '../../errors.ts';

const MIB = 1024 * 1024;

/** Whose bodies count together: those of callers with a key, of strangers, and of providers with a genuine token. */
export type BudgetName = 'account' | 'stranger' | 'provider';

/** Bytes of bodies that one process has in memory, of all callers together and of one of them. */
const BUDGETS: Record<BudgetName, { all: number; each: number }> = {
  account: { all: 64 * MIB, each: 16 * MIB },
  stranger: { all: 8 * MIB, each: MIB },
  provider: { all: 8 * MIB, each: 8 * MIB },
};
/** Files that one process stores while they arrive. They are not in memory, and take minutes. */
const MAX_UPLOADS = 16;
const RETRY_AFTER_SECONDS = 1;
const RETRY_UPLOAD_SECONDS = 10;
/** Refusals by a budget are reported once in this time, not one by one: a stranger must not fill the log. */
const REPORT_INTERVAL_MS = 30_000;

/** Counts the body of one request. */
export interface BodyMeter {
  /**
   * Counts bytes that have arrived.
   * @throws Overload if they exceed a budget
   */
  take(bytes: number): void;
  /** To be called when the handler has ended: the body is in memory until then. What is taken afterwards does not count. */
  release(): void;
}

/** Bounds the bodies that a process has in memory. Content-Length does not count: anyone may announce anything. */
export interface BodyBudgets {
  /** @param caller an account, or a network */
  open(name: BudgetName, caller: string): BodyMeter;
  /**
   * Counts a file that is stored while it arrives.
   * @returns to be called when the request has ended
   * @throws Overload if too many are arriving
   */
  enterUpload(): () => void;
}

/** @param report is called now and then while bodies are refused */
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
