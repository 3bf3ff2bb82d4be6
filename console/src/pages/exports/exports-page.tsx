import { useQuery } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { isUnfinished } from '../../api/work.ts';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { countText, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { NewExport } from './new-export.tsx';

const FILTERS: readonly Filter[] = [
  { name: 'resource', label: 'Rows', options: ['contacts', 'suppressions', 'messages'] },
  { name: 'status', label: 'Status', options: ['queued', 'processing', 'completed', 'failed', 'canceled'] },
];

const columns: readonly TableColumn<Schemas['Export']>[] = [
  {
    key: 'export',
    header: 'Export',
    cell: ({ id, resource }) => <BrandLink to={`/exports/${id}`}>{`${resource} ${id}`}</BrandLink>,
  },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'rows',
    header: 'Rows',
    align: 'right',
    cell: ({ total_rows: total }) => (total === null ? '–' : countText(total)),
  },
  {
    key: 'expires',
    header: 'File kept until',
    cell: ({ url, expires_at: at }) => (url === null ? '–' : <Time at={at} />),
    wideOnly: true,
  },
  { key: 'created', header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
];

export function ExportsPage() {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const open = useOpen();
  const query = useQuery({
    queryKey: ['exports', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/exports', { params: { query: list.query }, signal })),
    refetchInterval: ({ state }) => (state.data?.rows.some(isUnfinished) === true ? POLL_MS : false),
  });
  return (
    <>
      <PageHeader title="Exports" actions={<NewExport />} />
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Exports"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(`/exports/${id}`)}
            empty={Object.keys(list.filter).length > 0 ? <p>No export matches.</p> : <NoExports />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

function NoExports() {
  return (
    <EmptyState
      title="No exports in the last 90 days"
      curl={curlOf('POST', '/v1/my/exports', { resource: 'messages', filters: { status: 'failed' } })}
    >
      <p>
        An export is a CSV file of contacts, suppressions or messages, even of millions. It is written in the
        background and can be downloaded for 7 days. To export only some, filter their list and press Export
        there.
      </p>
    </EmptyState>
  );
}
