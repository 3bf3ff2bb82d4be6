import type { DraftForm } from '../../editors/draft/draft.ts';
import { areFilters } from '../../editors/filters/read-filters.ts';
import { isObject } from '../../ui/json-text.ts';
import type { Filters } from './preview.ts';

export interface SegmentContent {
  name: string;
  filters: Filters;
}

/** @returns null if the editor of segments cannot show it */
export function readDraft(value: unknown): SegmentContent | null {
  if (!isObject(value)) return null;
  const { name, filters } = value;
  return typeof name === 'string' && areFilters(filters) ? { ...value, name, filters } : null;
}

export const segmentForm: DraftForm<SegmentContent> = { read: readDraft };
