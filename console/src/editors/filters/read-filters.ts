import { isObject } from '../../ui/json-text.ts';
import type { Filter } from './language.ts';

const isFilter = (value: unknown): boolean =>
  isObject(value) &&
  typeof value.name === 'string' &&
  typeof value.predicate === 'string' &&
  (!['any', 'all'].includes(value.name) || areFilters(value.value));

/** Whether something that was stored has the shape that the editor of filters needs. */
export function areFilters(value: unknown): value is Filter[] {
  return Array.isArray(value) && value.every(isFilter);
}
