/** Lets a few callers in at a time, the others in the order in which they came. */
export function createTurns(maxAtOnce: number) {
  const waiting: (() => void)[] = [];
  let free = maxAtOnce;
  return async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else free += 1;
    }
  };
}
