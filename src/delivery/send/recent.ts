/** Values that may be asked for again. */
export interface Recent<V> {
  /** What was made under this key lately, else what `make` makes now. */
  get(key: string, make: () => V): V;
}

/**
 * Remembers what was made last, within bounds: the oldest are forgotten first.
 * @param bounds.entries at most
 * @param bounds.size all together, in the unit of `sizeOf`; what is larger than an eighth of it is not remembered
 */
export function createRecent<V>(
  bounds: { entries: number; size: number },
  sizeOf: (key: string, value: V) => number,
): Recent<V> {
  const known = new Map<string, { value: V; size: number }>();
  let total = 0;

  function forgetOldest(): void {
    for (const [key, { size }] of known) {
      if (known.size <= bounds.entries && total <= bounds.size) return;
      known.delete(key);
      total -= size;
    }
  }

  return {
    get(key, make) {
      const found = known.get(key);
      if (found) return found.value;
      const value = make();
      const size = sizeOf(key, value);
      if (size * 8 > bounds.size) return value;
      known.set(key, { value, size });
      total += size;
      forgetOldest();
      return value;
    },
  };
}
