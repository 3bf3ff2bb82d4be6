import { useQuery } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { isUnfinished } from '../../api/work.ts';
import { Card, countText } from '../../ui/facts.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { ColumnsRead } from './columns-read.tsx';

const FIRST_ERRORS = 5;

/** What a dry run of the file has found: how each column is read, and what an import would do. */
export function CheckedFile({ id }: { id: number }) {
  const query = useQuery({
    queryKey: ['imports', String(id)],
    queryFn: ({ signal }) => call(() => api.GET('/v1/my/imports/{id}', { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (isUnfinished(state.data) ? POLL_MS : false),
  });
  return (
    <Card title="What an import would do">
      <QueryView query={query}>
        {(run) => (
          <>
            {run.errors.slice(0, FIRST_ERRORS).map(({ row, message }) => (
              <Notice key={`${row} ${message}`} tone="bad">
                {row === null ? message : `Row ${row}: ${message}`}
              </Notice>
            ))}
            {isUnfinished(run) && <p className="muted">The file is being checked. Nothing is changed.</p>}
            {run.status === 'completed' && (
              <p>
                {`${countText(run.created_count)} contacts or suppressions would be new, ${countText(run.updated_count)} `}
                {`would change, and ${countText(run.failed_count)} rows would fail. `}
                <BrandLink to={`/imports/${id}`}>All about the check</BrandLink>
              </p>
            )}
            {run.columns !== null && run.columns.length > 0 && <ColumnsRead columns={run.columns} />}
          </>
        )}
      </QueryView>
    </Card>
  );
}
