import { useQuery } from '@tanstack/react-query';
import { POLL_MS } from '../../api/query-client.ts';
import { isUnfinished } from '../../api/work.ts';
import { api, call, type Schemas } from '../../api/client.ts';
import { Card, countText } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { ColumnsRead } from './columns-read.tsx';
import { encodingText } from './encoding-text.ts';

const FIRST_PROBLEMS = 5;

type Checked = Schemas['Import'];

/** A number with the noun that follows it. */
const countOf = (count: number, one: string, many: string) =>
  `${countText(count)} ${count === 1 ? one : many}`;

function sumText({ resource, ...run }: Checked): string {
  const [one, many] = resource === 'contacts' ? ['contact', 'contacts'] : ['suppression', 'suppressions'];
  const warned = run.warning_count > 0 ? [`${countText(run.warning_count)} imported without some cells`] : [];
  const parts = [
    `${countOf(run.created_count, one, many)} would be new`,
    `${countText(run.updated_count)} would change`,
    `${countText(run.unchanged_count)} would stay as they are`,
    ...warned,
  ];
  return `${parts.join(', ')}, and ${countOf(run.failed_count, 'row', 'rows')} would fail.`;
}

const problemText = ({ row, column, message }: Checked['errors'][number]) =>
  row === null ? message : `Row ${row}${column === null ? '' : `, ${column}`}: ${message}`;

function Problems({ of, tone }: { of: Checked['errors']; tone: 'bad' | 'warn' }) {
  return of.slice(0, FIRST_PROBLEMS).map((problem) => (
    <Notice key={problemText(problem)} tone={tone}>
      {problemText(problem)}
    </Notice>
  ));
}

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
            <Problems of={run.errors} tone="bad" />
            <Problems of={run.warnings} tone="warn" />
            {isUnfinished(run) && <p className="muted">The file is being checked. Nothing is changed.</p>}
            {run.status === 'completed' && (
              <p>
                {`${sumText(run)} `}
                <BrandLink to={`/imports/${id}`}>Details of the check</BrandLink>
              </p>
            )}
            {run.encoding !== null && run.encoding.name !== 'utf-8' && (
              <p className="muted">
                Encoding: {encodingText(run)}. If values look wrong, save the file in UTF-8.
              </p>
            )}
            {run.columns !== null && run.columns.length > 0 && <ColumnsRead columns={run.columns} />}
          </>
        )}
      </QueryView>
    </Card>
  );
}
