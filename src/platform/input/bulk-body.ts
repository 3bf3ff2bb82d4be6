import { z } from 'zod';

/** Maximum number of items of a bulk request, those to add and those to remove together. */
export const MAX_BULK_ITEMS = 10_000;

/** The body of a bulk request: `{add, remove}`. @param item an item of either array, as the API describes it */
export function bulkBody<Item extends z.ZodType>(item: Item, description: string) {
  const items = z.array(item).default([]).meta({ description });
  return z.strictObject({ add: items, remove: items }).superRefine(({ add, remove }, context) => {
    if (add.length + remove.length <= MAX_BULK_ITEMS) return;
    context.addIssue({
      code: 'custom',
      path: ['add'],
      message: `with remove has more than ${MAX_BULK_ITEMS} items`,
    });
  });
}
