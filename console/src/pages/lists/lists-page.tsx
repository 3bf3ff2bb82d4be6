import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { countText, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { ListForm } from './list-form.tsx';

const FILTERS: readonly Filter[] = [{ name: 'name', label: 'Exact name', type: 'search' }];

const columns: readonly TableColumn<Schemas['ContactList']>[] = [
  {
    key: 'name',
    header: 'List',
    cell: ({ id, name, visible }) => (
      <>
        <BrandLink to={`/lists/${id}`}>{name}</BrandLink>
        {!visible && <span className="muted"> not visible</span>}
      </>
    ),
  },
  {
    key: 'contacts',
    header: 'Contacts',
    align: 'right',
    cell: ({ contacts_count: count }) => countText(count),
    width: '8rem',
  },
  {
    key: 'description',
    header: 'Description',
    cell: ({ description }) => description ?? '–',
    wideOnly: true,
  },
  { key: 'created', header: 'Created', cell: ({ created_at: at }) => <Time at={at} />, width: '10rem' },
];

export function ListsPage() {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const open = useOpen();
  const [creating, setCreating] = useState(false);
  const query = useQuery({
    queryKey: ['lists', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/lists', { params: { query: list.query }, signal })),
  });
  return (
    <>
      <PageHeader
        title="Lists"
        actions={
          <Button kind="primary" onClick={() => setCreating(true)}>
            New list
          </Button>
        }
      />
      <Dialog open={creating} onClose={() => setCreating(false)} title="New list">
        <ListForm onDone={({ id }) => open(`/lists/${id}`)} onCancel={() => setCreating(false)} />
      </Dialog>
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Lists"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(`/lists/${id}`)}
            empty={list.filter.name === undefined ? <NoLists /> : <p>No list has this name.</p>}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

function NoLists() {
  return (
    <EmptyState title="No lists yet" curl={curlOf('POST', '/v1/my/lists', { name: 'Newsletter' })}>
      <p>
        A list is a set of contacts that you fill yourself, such as the readers of a newsletter. Contacts can
        leave it on their preference page. A set that fills itself is a{' '}
        <BrandLink to="/segments">segment</BrandLink>.
      </p>
    </EmptyState>
  );
}
