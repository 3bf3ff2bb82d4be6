import { createContext, useContext } from 'react';
import type { Scope } from './language.ts';

/** A step that comes before the filters in its flow. */
export interface EarlierStep {
  /** Its id; the `ref` of a step that is not yet saved. */
  key: number | string;
  title: string;
  type: string;
}

/** What the filters of a builder belong to, and what was refused in them. */
export interface FilterSurface {
  scope: Scope;
  steps: readonly EarlierStep[];
  /** What the API refused, by paths from the filters, such as `0.value`. */
  errors: Readonly<Record<string, readonly string[]>>;
}

export const FilterContext = createContext<FilterSurface>({ scope: 'segment', steps: [], errors: {} });

export const useFilterContext = (): FilterSurface => useContext(FilterContext);

/** Returns the number of a filter for people: `2.1` is the first in the group that is the second filter. */
export const numberOf = (path: string): string =>
  path
    .split('.')
    .filter((part) => part !== 'value')
    .map((part) => Number(part) + 1)
    .join('.');
