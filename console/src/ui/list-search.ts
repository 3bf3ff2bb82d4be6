/** Filters and the page of a list, which are in the URL. */
import { useNavigate, useSearch } from '@tanstack/react-router';

export const PAGE_SIZE = 100;

export type ListSearch = Record<string, string | undefined>;

/** For `validateSearch` of a route: keeps every parameter as text. */
export const listSearch = (search: Record<string, unknown>): ListSearch =>
  Object.fromEntries(
    Object.entries(search).flatMap(([name, value]) =>
      value === undefined || value === null || value === ''
        ? []
        : [[name, typeof value === 'object' ? JSON.stringify(value) : String(value as string | number)]],
    ),
  );

const PLAIN_DATE = /^\d{4}-\d{2}-\d{2}$/;

/** The API takes times; a date means its midnight in the zone of the viewer. It refuses what is no date. */
function valueForApi(value: string): string {
  const at = PLAIN_DATE.test(value) ? new Date(`${value}T00:00:00`) : null;
  return at && !Number.isNaN(at.getTime()) ? at.toISOString() : value;
}

export interface ListState {
  search: ListSearch;
  page: number;
  /** The given filters, as the API takes them. */
  filter: Record<string, string>;
  /** The id after which a search continues; null at its beginning. */
  after: string | null;
  /** The query of the request: the given filters, `page` or `after`, and `limit`. */
  query: Record<string, string | number>;
  /** Sets parameters of the URL; those without a value disappear. Another filter begins at the first page. */
  set: (changes: ListSearch) => void;
}

/** @param filters the names of the parameters that the API filters by */
export function useListSearch(filters: readonly string[]): ListState {
  const search: ListSearch = useSearch({ strict: false });
  const navigate = useNavigate();
  const page = Math.max(1, Math.trunc(Number(search.page ?? 1)) || 1);
  const given = filters.flatMap((name) => (search[name] ? [[name, valueForApi(search[name])] as const] : []));
  const filter = Object.fromEntries(given);
  const after = search.after ?? null;
  const place: Record<string, string | number> = after === null ? { page } : { after };
  return {
    search,
    page,
    filter,
    after,
    query: { ...filter, ...place, limit: PAGE_SIZE },
    set(changes) {
      const next = listSearch({ ...search, page: undefined, after: undefined, ...changes });
      void navigate({ to: '.', search: next, replace: true });
    },
  };
}
