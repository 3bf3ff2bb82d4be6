/** What filters would select now. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';

export type Filters = readonly Schemas['Filter'][];

const STALE_MS = 60_000;
const LIVE_MS = 5_000;
/** Counting again and again must not keep a connection of the service busy: it rests this many times as long. */
const REST = 10;

let last: Promise<unknown> = Promise.resolve();
let tookMs = 0;

async function timed<Result>(work: () => Promise<Result>): Promise<Result> {
  const begin = performance.now();
  const result = await work();
  tookMs = performance.now() - begin;
  return result;
}

/** An account counts two segments at a time and refuses requests beyond a few that wait, so a page asks one by one. */
function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  const next = last.then(() => timed(work));
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
    refetchInterval: ({ state }) =>
      live && typeof state.data?.count === 'number' ? Math.max(LIVE_MS, REST * tookMs) : false,
  });
}

const PREFIX = 'filters.';

/** Returns what the API refuses in filters, by paths from the filters, such as `0.value`; empty: in all of them. */
export function filterErrors(error: unknown): Record<string, readonly string[]> {
  const fields = error instanceof ApiError ? error.fields : {};
  const ofFilters = Object.entries(fields).filter(([path]) => path === 'filters' || path.startsWith(PREFIX));
  return Object.fromEntries(ofFilters.map(([path, texts]) => [path.slice(PREFIX.length), texts]));
}
