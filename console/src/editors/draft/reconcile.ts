import type { DraftForm } from './draft.ts';
import { merge, type Merged } from './merge.ts';
import type { Choices, Three } from './merging.ts';

/**
 * Merges contents as their editor understands them.
 * @returns null if the versions have no merge that makes sense as a whole
 */
export function reconcile<Content extends object>(
  form: DraftForm<Content>,
  of: Three<Content>,
  choices: Choices,
): Merged<Content> | null {
  const ready = form.prepare ? form.prepare(of) : of;
  if (!ready) return null;
  const merged = merge(ready, choices);
  if (form.read(merged.value) === null || form.isSound?.(merged.value, of) === false) return null;
  return merged;
}
