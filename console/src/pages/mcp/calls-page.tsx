import { useQuery } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { McpTabs } from './mcp-tabs.tsx';

const FILTERS: readonly Filter[] = [
  { name: 'tool', label: 'Tool' },
  { name: 'outcome', label: 'Outcome' },
  { name: 'user_id', label: 'User id', type: 'number' },
  { name: 'grant_id', label: 'Access id', type: 'number' },
  { name: 'created_after', label: 'Since', type: 'date' },
  { name: 'created_before', label: 'Before', type: 'date' },
];

/** What assistants did in the account. */
export function McpCallsPage() {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const calls = useQuery({
    queryKey: ['mcp_calls', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/mcp_calls', { params: { query: list.query }, signal })),
  });
  return (
    <>
      <PageHeader title="Calls of assistants">
        <p className="muted">What assistants did in the account in the last 90 days. It has no contents.</p>
      </PageHeader>
      <McpTabs />
      <Filters filters={FILTERS} list={list} />
      <QueryView query={calls}>
        {(page) => (
          <>
            <DataTable
              label="Calls"
              rows={page.rows}
              columns={COLUMNS}
              rowKey={({ id }) => id}
              empty={
                <p className="muted">No calls. They appear here as soon as an assistant does something.</p>
              }
            />
            <Pager list={list} page={page} />
          </>
        )}
      </QueryView>
    </>
  );
}

type Call = Schemas['McpCall'];

function Outcome({ outcome }: Pick<Call, 'outcome'>) {
  if (outcome === null) return <span className="muted">–</span>;
  const tone = outcome === 'ok' ? 'good' : outcome === 'asked' ? 'busy' : 'bad';
  return <StatusBadge status={outcome} tone={tone} />;
}

const COLUMNS: readonly TableColumn<Call>[] = [
  { key: 'created_at', header: 'When', cell: (call) => <Time at={call.created_at} /> },
  { key: 'client_name', header: 'Assistant', width: '12rem', cell: (call) => call.client_name },
  { key: 'user_email', header: 'For', cell: ({ user_email: email, user_id: id }) => email ?? `user ${id}` },
  {
    key: 'tool',
    header: 'Tool',
    width: '14rem',
    cell: ({ tool, operation }) => (
      <>
        {tool} {operation !== null && operation !== tool && <span className="muted">{operation}</span>}
      </>
    ),
  },
  { key: 'resource_id', header: 'Resource', cell: ({ resource_id: id }) => id ?? '–' },
  { key: 'brand_id', header: 'Brand', cell: ({ brand_id: id }) => id ?? '–', wideOnly: true },
  { key: 'outcome', header: 'Outcome', cell: Outcome },
  { key: 'request_id', header: 'Request', cell: (call) => call.request_id, wideOnly: true },
];
