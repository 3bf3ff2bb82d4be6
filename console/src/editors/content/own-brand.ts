import { useQuery } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';

const STALE_MS = 30_000;

/** Returns the current brand, whose theme and values letters have; null until it is loaded. */
export function useOwnBrand(): Schemas['Brand'] | null {
  const { data = null } = useQuery({
    queryKey: ['brands', 'own'],
    queryFn: ({ signal }) => call(() => api.GET('/v1/my/brand', { signal })),
    staleTime: STALE_MS,
  });
  return data;
}
