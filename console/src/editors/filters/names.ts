/** The keys of data and the events that the brand has, to choose from. */

export interface FilterNames {
  data: readonly { path: string; types: readonly string[] }[];
  events: readonly string[];
}

const NONE: FilterNames = { data: [], events: [] };

export const useFilterNames = (): FilterNames => NONE;
