/** A flow is slow if its last page took longer than this, in ms. */
const SLOW_MS = 1_000;

/** Picks the flow whose entries are judged next. All workers of a process share one scheduler. */
export interface FlowScheduler {
  /**
   * Takes the flow that has waited longest. No other worker gets it until it is released.
   * @param onlyQuick leaves out slow flows
   */
  take(onlyQuick: boolean): Promise<number | null>;
  /** @param tookMs duration of its page. @param restMs how long the flow is left out */
  release(flowId: number, tookMs: number, restMs: number): void;
}

/** @param read finds the flows that have entries */
export function createFlowScheduler(read: () => Promise<number[]>): FlowScheduler {
  const waiting: number[] = [];
  const taken = new Set<number>();
  const slow = new Set<number>();
  const restUntil = new Map<number, number>();
  const pick = (onlyQuick: boolean): number | null => {
    const index = waiting.findIndex((id) => !onlyQuick || !slow.has(id));
    const [id] = index === -1 ? [] : waiting.splice(index, 1);
    if (id === undefined) return null;
    taken.add(id);
    return id;
  };
  return {
    async take(onlyQuick) {
      const next = pick(onlyQuick);
      if (next !== null) return next;
      const found = await read();
      const now = performance.now();
      for (const [id, time] of restUntil) if (time <= now) restUntil.delete(id);
      const isFree = (id: number) => !taken.has(id) && !restUntil.has(id) && !waiting.includes(id);
      waiting.push(...found.filter(isFree));
      return pick(onlyQuick);
    },
    release(flowId, tookMs, restMs) {
      taken.delete(flowId);
      if (tookMs > SLOW_MS) slow.add(flowId);
      else slow.delete(flowId);
      if (restMs > 0) restUntil.set(flowId, performance.now() + restMs);
    },
  };
}
