import { useQuery } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { isUnfinished } from '../../api/work.ts';
import { CodeBlock, curlOf, EmptyState } from '../../ui/code.tsx';
import { countText, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';

const FILTERS: readonly Filter[] = [
  { name: 'resource', label: 'Rows', options: ['contacts', 'suppressions'] },
  { name: 'status', label: 'Status', options: ['queued', 'processing', 'completed', 'failed', 'canceled'] },
];

const columns: readonly TableColumn<Schemas['Import']>[] = [
  {
    key: 'file',
    header: 'File',
    cell: ({ id, filename, options }) => (
      <>
        <BrandLink to={`/imports/${id}`}>{filename || `Import ${id}`}</BrandLink>
        {options.dry_run && <span className="muted"> only checked</span>}
      </>
    ),
  },
  { key: 'resource', header: 'Rows are', cell: ({ resource }) => resource, wideOnly: true },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'rows',
    header: 'Rows',
    align: 'right',
    cell: ({ processed_rows: done, total_rows: total }) =>
      total === null ? '–' : done === total ? countText(total) : `${countText(done)} of ${countText(total)}`,
  },
  {
    key: 'failed',
    header: 'Failed',
    align: 'right',
    cell: ({ failed_count: count }) => countText(count),
    wideOnly: true,
  },
  { key: 'created', header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
];

export function ImportsPage() {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const open = useOpen();
  const query = useQuery({
    queryKey: ['imports', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/imports', { params: { query: list.query }, signal })),
    refetchInterval: ({ state }) => (state.data?.rows.some(isUnfinished) === true ? POLL_MS : false),
  });
  return (
    <>
      <PageHeader
        title="Imports"
        actions={
          <BrandLink to="/imports/new" className="button primary">
            Import a file
          </BrandLink>
        }
      />
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Imports"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(`/imports/${id}`)}
            empty={Object.keys(list.filter).length > 0 ? <p>No import matches.</p> : <NoImports />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

function NoImports() {
  return (
    <EmptyState title="No imports yet">
      <p>
        An import brings contacts or suppressions from a CSV file, even millions. It runs in the background,
        reports the result of each row, and returns the failed rows as a file to correct.
      </p>
      <CodeBlock
        label="Or by the API"
        text={`${curlOf('POST', '/v1/my/imports')} \\\n  -F file=@contacts.csv -F resource=contacts`}
      />
    </EmptyState>
  );
}
