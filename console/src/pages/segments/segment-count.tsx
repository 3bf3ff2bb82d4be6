import { useQuery } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { countText } from '../../ui/facts.tsx';

type Filters = Schemas['Filter'][];

const STALE_MS = 60_000;

let last: Promise<unknown> = Promise.resolve();

/** An account counts two segments at a time and refuses requests beyond a few that wait, so a page asks one by one. */
function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
  const next = last.then(work);
  last = next.catch(() => undefined);
  return next;
}

/** @param filters none if there is nothing to count */
export function useSegmentPreview(filters: Filters | null) {
  return useQuery({
    queryKey: ['segments', 'preview', filters],
    enabled: filters !== null,
    staleTime: STALE_MS,
    queryFn: ({ signal }) =>
      inTurn(() =>
        call(() => api.POST('/v1/my/segments/preview', { body: { filters: filters ?? [] }, signal })),
      ),
  });
}

/** How many contacts filters select now. */
export function SegmentCount({ filters }: { filters: Filters }) {
  const { data, isError } = useSegmentPreview(filters);
  if (isError) return <span className="muted">not known</span>;
  if (!data) return <span className="muted">…</span>;
  return data.count === null ? (
    <span className="muted" title={data.slow_because ?? undefined}>
      too slow to count
    </span>
  ) : (
    countText(data.count)
  );
}
