/** PostgreSQL's classes of data exceptions and violated constraints. Repeating the statement would fail again. */
const REFUSED = /^2[23]/;

/** Whether the database refused a statement because of its data. */
export function isRefusedData(error: unknown): boolean {
  return REFUSED.test((error as { code?: string }).code ?? '');
}

/**
 * Does the same work for many items at once. If the database refuses some of them, finds these by halving and does the
 * work for all others. This takes about n · log(items) calls for n refused items.
 * @param work does all of the items it is given, or none
 * @param refused called for each item that is refused on its own
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
