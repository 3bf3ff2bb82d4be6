/** The keys of data and the events that the brand has, to choose from. */
import { useQuery } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';

export type FilterNames = Schemas['FilterNames'];

const NONE: FilterNames = { data: [], events: [] };
const STALE_MS = 60_000;

/** Returns no names until they are loaded. */
export function useFilterNames(): FilterNames {
  const { data = NONE } = useQuery({
    queryKey: ['segments', 'names'],
    staleTime: STALE_MS,
    queryFn: ({ signal }) => call(() => api.GET('/v1/my/segments/names', { signal })),
  });
  return data;
}
