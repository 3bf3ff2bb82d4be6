import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, callWithTag, type Schemas } from './client.ts';

const STALE_MS = 30_000;

/** The current brand, with its `ETag`. */
export const brandQuery = queryOptions({
  queryKey: ['brands', 'current'],
  queryFn: ({ signal }) => callWithTag(() => api.GET('/v1/my/brand', { signal })),
});

/** Returns the current brand, whose theme and values letters have; null until it is loaded. */
export function useOwnBrand(): Schemas['Brand'] | null {
  const { data } = useQuery({ ...brandQuery, staleTime: STALE_MS });
  return data?.data ?? null;
}
