import type { Claim } from './claim.ts';

export const WINDOW_SIZE = 50;
const MOST_AHEAD = 1_000;
/** Also for a sender that has handed nothing over lately: it may be a slow one. */
const LEAST_AHEAD = 100;
/** Claims are for about this long's work. */
const AHEAD_SECONDS = 3;

/** Claims on their way to the workers. A worker waits here; a window is what it takes. */
export interface ClaimBuffer {
  /**
   * How many more to claim: 0 while it is half full, and no more than was handed over within the last seconds. What a
   * slow sender cannot hand over soon is left for others; a quick one's claims grow twofold each time.
   */
  wanted(): number;
  add(claims: Claim[]): void;
  /** The workers are done with so many, well or not. */
  handedOver(count: number): void;
  /** @returns at most 50 claims, fewer where several workers wait; null once the buffer is closed */
  take(): Promise<Claim[] | null>;
  drain(): Claim[];
  close(): void;
}

/** Counts what happened within the last seconds, the present one among them. */
function createRecentCount(now: () => number) {
  const counts = Array.from({ length: AHEAD_SECONDS }, () => 0);
  let second = Math.floor(now() / 1_000);
  const forget = () => {
    const present = Math.floor(now() / 1_000);
    const passed = Math.min(present - second, AHEAD_SECONDS);
    for (let n = 0; n < passed; n++) counts[(present - n) % AHEAD_SECONDS] = 0;
    second = present;
  };
  return {
    add(count: number) {
      forget();
      const index = second % AHEAD_SECONDS;
      counts[index] = (counts[index] ?? 0) + count;
    },
    total() {
      forget();
      return counts.reduce((sum, count) => sum + count, 0);
    },
  };
}

/** @param now milliseconds from any moment on */
export function createClaimBuffer(workers: number, now: () => number = () => performance.now()): ClaimBuffer {
  const recent = createRecentCount(now);
  let claims: Claim[] = [];
  const waiting: ((window: Claim[] | null) => void)[] = [];
  let closed = false;

  const cut = (): Claim[] => {
    const share = Math.ceil(claims.length / Math.max(1, Math.min(waiting.length + 1, workers)));
    return claims.splice(0, Math.min(WINDOW_SIZE, share));
  };
  return {
    wanted() {
      const ahead = Math.min(MOST_AHEAD, Math.max(LEAST_AHEAD, recent.total()));
      return claims.length * 2 < ahead ? ahead : 0;
    },
    handedOver: (count) => recent.add(count),
    add(more) {
      claims = claims.length === 0 ? more : claims.concat(more);
      while (waiting.length > 0 && claims.length > 0) {
        const share = Math.ceil(claims.length / waiting.length);
        waiting.shift()?.(claims.splice(0, Math.min(WINDOW_SIZE, share)));
      }
    },
    async take() {
      if (closed) return null;
      if (claims.length > 0) return cut();
      return new Promise((resolve) => waiting.push(resolve));
    },
    drain() {
      return claims.splice(0);
    },
    close() {
      closed = true;
      for (const resolve of waiting.splice(0)) resolve(null);
    },
  };
}
