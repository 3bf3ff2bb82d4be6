import { useQuery } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';

const FILTERS: readonly Filter[] = [
  { name: 'actor_kind', label: 'Who', options: ['user', 'api_key', 'operator', 'system'] },
  { name: 'actor_id', label: 'Id of user or key', type: 'number' },
  { name: 'action', label: 'Action' },
  { name: 'created_after', label: 'Since', type: 'date' },
  { name: 'created_before', label: 'Before', type: 'date' },
];

/** Who changed what in the account. */
export function AuditPage() {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const entries = useQuery({
    queryKey: ['audit', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/audit', { params: { query: list.query }, signal })),
  });
  return (
    <>
      <PageHeader title="Audit log">
        <p className="muted">Who changed what in the account, in the last 400 days. It has no contents.</p>
      </PageHeader>
      <Filters filters={FILTERS} list={list} />
      <QueryView query={entries}>
        {(page) => (
          <>
            <DataTable
              label="Audit log"
              rows={page.rows}
              columns={COLUMNS}
              rowKey={({ id }) => id}
              empty={
                <p className="muted">No entries. Changes by users, API keys and operators appear here.</p>
              }
            />
            <Pager list={list} page={page} />
          </>
        )}
      </QueryView>
    </>
  );
}

type Entry = Schemas['AuditEntry'];

const GOOD_BELOW = 400;

function Outcome({ status }: Pick<Entry, 'status'>) {
  if (status === null) return <span className="muted">–</span>;
  return <StatusBadge status={String(status)} tone={status < GOOD_BELOW ? 'good' : 'bad'} />;
}

const COLUMNS: readonly TableColumn<Entry>[] = [
  { key: 'created_at', header: 'When', width: '8rem', cell: (entry) => <Time at={entry.created_at} /> },
  {
    key: 'actor',
    header: 'Who',
    width: '18rem',
    cell: ({ actor_kind: kind, actor_id: id, actor_name: name }) => (
      <>
        {name ?? '–'}{' '}
        <span className="muted">
          {kind.replaceAll('_', ' ')} {id}
        </span>
      </>
    ),
  },
  { key: 'action', header: 'Action', width: '12rem', cell: ({ action }) => action },
  { key: 'resource_id', header: 'Resource', cell: ({ resource_id: id }) => id ?? '–' },
  { key: 'brand_id', header: 'Brand', cell: ({ brand_id: id }) => id ?? '–', wideOnly: true },
  { key: 'status', header: 'Status', cell: Outcome },
  { key: 'ip', header: 'Address', cell: ({ ip }) => ip ?? '–', wideOnly: true },
  { key: 'request_id', header: 'Request', cell: ({ request_id: id }) => id ?? '–', wideOnly: true },
];
