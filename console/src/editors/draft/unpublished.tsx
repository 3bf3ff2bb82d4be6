import { useQuery } from '@tanstack/react-query';
import { api, callPage } from '../../api/client.ts';
import { StatusBadge } from '../../ui/details.tsx';
import type { DraftOf } from './draft.ts';

/** The newest drafts; older ones are marked in their editors only. */
const SHOWN = 200;

/** Marks a resource that has changes which are not published. All marks of a list share one request. */
export function UnpublishedMark({ kind, id }: DraftOf) {
  const { data } = useQuery({
    queryKey: ['drafts', 'list', kind],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/drafts', { params: { query: { kind, limit: SHOWN } }, signal })),
  });
  const isUnpublished = data?.rows.some((draft) => draft.resource_id === id) ?? false;
  return isUnpublished ? (
    <>
      {' '}
      <StatusBadge status="unpublished changes" tone="warn" />
    </>
  ) : null;
}
