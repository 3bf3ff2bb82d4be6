import type { Claim } from './claim.ts';

export const WINDOW_SIZE = 50;

/** Claims on their way to the workers. A worker waits here; a window is what it takes. */
export interface ClaimBuffer {
  readonly size: number;
  readonly idleWorkers: number;
  add(claims: Claim[]): void;
  /** @returns at most 50 claims, fewer where several workers wait; null once the buffer is closed */
  take(): Promise<Claim[] | null>;
  drain(): Claim[];
  close(): void;
}

export function createClaimBuffer(workers: number): ClaimBuffer {
  let claims: Claim[] = [];
  const waiting: ((window: Claim[] | null) => void)[] = [];
  let closed = false;

  const cut = (): Claim[] => {
    const share = Math.ceil(claims.length / Math.max(1, Math.min(waiting.length + 1, workers)));
    return claims.splice(0, Math.min(WINDOW_SIZE, share));
  };
  return {
    get size() {
      return claims.length;
    },
    get idleWorkers() {
      return waiting.length;
    },
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
