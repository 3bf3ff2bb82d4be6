const MIB = 1_048_576;
/** Maximum bytes of contents that a process has read for batches that are not recorded yet. */
export const MAX_BYTES_IN_HAND = 64 * MIB;

/** Bounds the bytes of contents that the batches of a process have in memory. All buffers of the process share it. */
export interface ByteBudget {
  /** Whether this many bytes may be taken. If none are taken yet, any number may. */
  hasRoom(bytes: number): boolean;
  take(bytes: number): void;
  giveBack(bytes: number): void;
  /** Calls the listener whenever bytes are given back. @returns a function that removes the listener */
  onRoom(listener: () => void): () => void;
}

export function createByteBudget(limit: number = MAX_BYTES_IN_HAND): ByteBudget {
  const listeners = new Set<() => void>();
  let taken = 0;
  return {
    hasRoom: (bytes) => taken === 0 || taken + bytes <= limit,
    take(bytes) {
      taken += bytes;
    },
    giveBack(bytes) {
      taken -= bytes;
      for (const listener of listeners) listener();
    },
    onRoom(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/**
 * A part of the budget for one of several providers: at most half, so that a provider that hangs leaves room for the
 * others. Each provider may always take one batch.
 */
export function partOf(budget: ByteBudget, limit: number = MAX_BYTES_IN_HAND / 2): ByteBudget {
  const own = createByteBudget(limit);
  let taken = 0;
  return {
    hasRoom: (bytes) => taken === 0 || (own.hasRoom(bytes) && budget.hasRoom(bytes)),
    take(bytes) {
      taken += bytes;
      own.take(bytes);
      budget.take(bytes);
    },
    giveBack(bytes) {
      taken -= bytes;
      own.giveBack(bytes);
      budget.giveBack(bytes);
    },
    onRoom: (listener) => budget.onRoom(listener),
  };
}
