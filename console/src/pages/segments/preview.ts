/** What filters would select now. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';

export type Filters = readonly Schemas['Filter'][];

const STALE_MS = 60_000;
const LIVE_MS = 5_000;

let last: Promise<unknown> = Promise.resolve();

/** An account counts two segments at a time and refuses requests beyond a few that wait, so a page asks one by one. */
function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  const next = last.then(work);
  last = next.catch(() => undefined);
  return next;
}

/**
 * @param filters null if there is nothing to count
 * @param options.live asks again, as contacts and events arrive
 */
export function useSegmentPreview(
  filters: Filters | null,
  { contactId = null, live = false }: { contactId?: number | null; live?: boolean } = {},
) {
  return useQuery({
    queryKey: ['segments', 'preview', filters, contactId],
    enabled: filters !== null,
    staleTime: STALE_MS,
    queryFn: ({ signal }) =>
      inTurn(() =>
        call(() =>
          api.POST('/v1/my/segments/preview', {
            body: {
              filters: [...(filters ?? [])],
              ...(contactId === null ? {} : { contact_id: contactId }),
            },
            signal,
          }),
        ),
      ),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => (live && typeof state.data?.count === 'number' ? LIVE_MS : false),
  });
}

const PREFIX = 'filters.';

/** Returns what the API refuses in filters, by paths from the filters, such as `0.value`; empty: in all of them. */
export function filterErrors(error: unknown): Record<string, readonly string[]> {
  const fields = error instanceof ApiError ? error.fields : {};
  const ofFilters = Object.entries(fields).filter(([path]) => path === 'filters' || path.startsWith(PREFIX));
  return Object.fromEntries(ofFilters.map(([path, texts]) => [path.slice(PREFIX.length), texts]));
}
