import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../../errors.ts';
import { createStop } from '../../../platform/processes/stop.ts';

/** The limits of API keys, which all processes share. */
export interface RateLimits {
  /**
   * Counts requests.
   * @param caller unique name of the key
   * @param perSecond 0: no limit
   * @throws AppError `rate_limited` with `Retry-After`: then none is counted
   */
  request(caller: string, perSecond: number, requests: number): unknown;
  /** The most that may be counted at once. */
  burstOf(perSecond: number): number;
}

export interface SubmissionRate {
  /**
   * Counts the recipients of a mail. Near the limit, first waits some seconds: many programs treat a refusal as final.
   * @throws AppError `rate_limited`
   */
  count(caller: string, perSecond: number, recipients: number): Promise<void>;
  /** Ends all waits. */
  stop(): void;
}

const MAX_WAIT_SECONDS = 5;
/** Each keeps a mail in memory or in the storage, and a connection. */
const MAX_WAITING = 50;
const MAX_WAITING_OF_CALLER = 5;

function retryAfterSecondsOf(error: unknown): number | null {
  if (!(error instanceof AppError && error.code === 'rate_limited')) return null;
  return Number(error.headers['Retry-After'] ?? 1);
}

export function createSubmissionRate({ request }: RateLimits): SubmissionRate {
  const stop = createStop();
  /** Numbers of waiting mails, by caller. */
  const waitingOf = new Map<string, number>();
  let waiting = 0;

  async function wait(caller: string, seconds: number): Promise<void> {
    const ofCaller = waitingOf.get(caller) ?? 0;
    waiting += 1;
    waitingOf.set(caller, ofCaller + 1);
    try {
      await stop.race(delay(seconds * 1_000, undefined, { ref: false }));
    } finally {
      waiting -= 1;
      const left = (waitingOf.get(caller) ?? 1) - 1;
      if (left === 0) waitingOf.delete(caller);
      else waitingOf.set(caller, left);
    }
  }

  return {
    async count(caller, perSecond, recipients) {
      try {
        await request(caller, perSecond, recipients);
        return;
      } catch (error) {
        const seconds = retryAfterSecondsOf(error);
        const isFull = waiting >= MAX_WAITING || (waitingOf.get(caller) ?? 0) >= MAX_WAITING_OF_CALLER;
        if (seconds === null || isFull || stop.requested) throw error;
        await wait(caller, Math.min(seconds, MAX_WAIT_SECONDS));
      }
      await request(caller, perSecond, recipients);
    },
    stop: () => stop.request(),
  };
}
