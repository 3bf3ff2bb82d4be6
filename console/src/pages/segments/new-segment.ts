/** A segment before it is created. */
import { areComplete } from '../../editors/filters/values.ts';
import { parseJson } from '../../ui/json-text.ts';
import type { Filters } from './preview.ts';
import { readDraft, type SegmentContent } from './read-draft.ts';

export const EMPTY: SegmentContent = { name: '', filters: [] };

/** Returns what was kept; an empty segment if nothing readable was. */
export function readKept(key: string, storage: Storage = localStorage): SegmentContent {
  const parsed = parseJson(storage.getItem(key) ?? '');
  return (parsed.fault === undefined && readDraft(parsed.value)) || EMPTY;
}

/**
 * Returns why a segment should not be created yet; null if it may be. Without filters it would be all contacts, which
 * a user who has just begun does not mean.
 * @param isRefused whether the API refuses the filters
 */
export function whyNotYet(filters: Filters, isRefused: boolean): string | null {
  if (filters.length === 0) return 'Add a filter first. Without one, all contacts would be in the segment.';
  if (!areComplete(filters, 'segment')) return 'Complete the filters first.';
  return isRefused ? 'Correct the filters first.' : null;
}
