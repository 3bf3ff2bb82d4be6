/** PostgreSQL: data exceptions, and violated constraints. No repetition of the statement would succeed. */
const REFUSED = /^2[23]/;

/** Whether the database refused the data of a statement, and not the statement as such. */
export function isRefusedData(error: unknown): boolean {
  return REFUSED.test((error as { code?: string }).code ?? '');
}

/**
 * Does the same work for many items at once. If the database refuses the data of some, these are found by halving, and
 * the work is done for all others: n statements for n bad items, times the logarithm of the number of items.
 * @param work for all of these items, or for none
 * @param refused called for each item that is refused by itself
 * @throws any other error of `work`; the work may then have been done for some items
 */
export async function withoutRefused<Item>(
  items: readonly Item[],
  work: (items: readonly Item[]) => Promise<void>,
  refused: (item: Item, error: unknown) => void | Promise<void>,
): Promise<void> {
  try {
    await work(items);
  } catch (error) {
    if (!isRefusedData(error)) throw error;
    const [only] = items;
    if (only !== undefined && items.length === 1) return refused(only, error);
    const half = Math.ceil(items.length / 2);
    await withoutRefused(items.slice(0, half), work, refused);
    await withoutRefused(items.slice(half), work, refused);
  }
}
