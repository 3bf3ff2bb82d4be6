/** The lists, segments and campaigns of the brand, to choose from. */
import { useQuery } from '@tanstack/react-query';
import type { AudienceNames, Choice } from './choices.ts';
import { api, callPage, type Page, type Schemas } from './client.ts';

const PAGE = 100;
/** A brand has at most 1,000 segments; more lists than that cannot be chosen by name. */
const MAX_PAGES = 10;
const STALE_MS = 30_000;

async function loadAll<Row>(loadPage: (page: number) => Promise<Page<Row>>): Promise<Row[]> {
  const first = await loadPage(1);
  const others = Array.from({ length: Math.min(first.pages, MAX_PAGES) - 1 }, (_, index) => index + 2);
  const rows = [first.rows];
  for (const page of others) rows.push((await loadPage(page)).rows);
  return rows.flat();
}

const choiceOf = ({ id, name }: { id: number; name: string }): Choice => ({ value: String(id), label: name });

/** Returns the lists of the brand, by name; none until they are loaded. */
export function useListChoices(): Choice[] {
  const { data = [] } = useQuery({
    queryKey: ['lists', 'all'],
    staleTime: STALE_MS,
    queryFn: ({ signal }): Promise<Schemas['ContactList'][]> =>
      loadAll((page) =>
        callPage(() => api.GET('/v1/my/lists', { params: { query: { page, limit: PAGE } }, signal })),
      ),
  });
  return data.map(choiceOf).sort((one, other) => one.label.localeCompare(other.label));
}

/** Returns the segments of the brand, by name; none until they are loaded. */
export function useSegmentChoices(): Choice[] {
  const { data = [] } = useQuery({
    queryKey: ['segments', 'all'],
    staleTime: STALE_MS,
    queryFn: ({ signal }): Promise<Schemas['Segment'][]> =>
      loadAll((page) =>
        callPage(() => api.GET('/v1/my/segments', { params: { query: { page, limit: PAGE } }, signal })),
      ),
  });
  return data.map(choiceOf).sort((one, other) => one.label.localeCompare(other.label));
}

/** Returns the newest campaigns by email that were sent or scheduled, newest first; none until they are loaded. */
export function useCampaignChoices(): Choice[] {
  const { data } = useQuery({
    queryKey: ['campaigns', 'choices'],
    staleTime: STALE_MS,
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/campaigns', {
          params: { query: { channel: 'email', limit: PAGE, summary: 'true' } },
          signal,
        }),
      ),
  });
  return (data?.rows ?? []).filter(({ status }) => status !== 'draft').map(choiceOf);
}

export const useAudienceNames = (): AudienceNames => ({
  lists: useListChoices(),
  segments: useSegmentChoices(),
  campaigns: useCampaignChoices(),
});
