import { useQuery } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { isUnfinished } from '../../api/work.ts';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { countText, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, TabLinks, useOpen } from '../../ui/links.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { actionTexts } from './bulk-action-text.ts';
import { contactTabs } from './contact-tabs.ts';

type BulkAction = Schemas['BulkAction'];

const FILTERS: readonly Filter[] = [
  {
    name: 'action',
    label: 'Action',
    options: Object.entries(actionTexts).map(([value, { label }]) => ({ value, label })),
  },
  {
    name: 'status',
    label: 'Status',
    options: ['queued', 'counting', 'running', 'completed', 'canceled', 'failed'],
  },
];

const columns: readonly TableColumn<BulkAction>[] = [
  {
    key: 'action',
    header: 'Action',
    cell: ({ id, action, dry_run: dryRun }) => (
      <BrandLink to={`/bulk-actions/${id}`}>
        {actionTexts[action].label}
        {dryRun && ' (count only)'}
      </BrandLink>
    ),
  },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'done',
    header: 'Contacts',
    align: 'right',
    cell: ({ total_count: total }) => (total === null ? '–' : countText(total)),
  },
  {
    key: 'changed',
    header: 'Changed',
    align: 'right',
    cell: ({ changed_count: count }) => countText(count),
  },
  { key: 'created', header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
];

export function BulkActionsPage() {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const open = useOpen();
  const query = useQuery({
    queryKey: ['bulk_actions', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/contacts/bulk_actions', { params: { query: list.query }, signal })),
    refetchInterval: ({ state }) => (state.data?.rows.some(isUnfinished) === true ? POLL_MS : false),
  });
  return (
    <>
      <PageHeader title="Bulk actions" />
      <TabLinks label="Contacts" tabs={contactTabs} />
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Bulk actions"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(`/bulk-actions/${id}`)}
            empty={<NoBulkActions />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

function NoBulkActions() {
  return (
    <EmptyState
      title="No bulk actions in the last 90 days"
      curl={curlOf('POST', '/v1/my/contacts/bulk_actions', {
        action: 'unsubscribe',
        filter: { source: 'old shop' },
        dry_run: true,
      })}
    >
      <p>
        A bulk action changes all contacts that match a filter. To start one, filter the{' '}
        <BrandLink to="/contacts">contacts</BrandLink> and choose what to do with them.
      </p>
    </EmptyState>
  );
}
