/** Spaces hand-overs, so that a provider gets no more messages a second than it takes. */
export interface Rate {
  /** Reserves a place for messages. @returns milliseconds until they may leave */
  reserve(messages: number): number;
}

/**
 * @param perSecond messages a second; undefined: no bound
 * @param now milliseconds of a monotonic clock
 */
export function createRate(perSecond: number | undefined, now: () => number = () => performance.now()): Rate {
  if (perSecond === undefined) return { reserve: () => 0 };
  let free = -Infinity;
  return {
    reserve(messages) {
      const startsAt = Math.max(free, now());
      free = startsAt + (messages * 1_000) / perSecond;
      return startsAt - now();
    },
  };
}
