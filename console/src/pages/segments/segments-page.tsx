import { useQuery } from '@tanstack/react-query';
import { useAudienceNames } from '../../api/audience.ts';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { UnpublishedMark } from '../../editors/draft/unpublished.tsx';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { Time } from '../../ui/details.tsx';
import { filtersText } from '../../ui/filter-text.ts';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { SegmentCount } from './segment-count.tsx';

function useColumns(): readonly TableColumn<Schemas['Segment']>[] {
  const names = useAudienceNames();
  return [
    {
      key: 'name',
      header: 'Segment',
      cell: ({ id, name }) => (
        <>
          <BrandLink to={`/segments/${id}`}>{name}</BrandLink>
          <UnpublishedMark kind="segments" id={id} />
        </>
      ),
    },
    {
      key: 'count',
      header: 'Contacts now',
      align: 'right',
      cell: ({ filters }) => <SegmentCount filters={filters} />,
      width: '9rem',
    },
    { key: 'filters', header: 'Filters', cell: ({ filters }) => filtersText(filters, names), wideOnly: true },
    {
      key: 'updated',
      header: 'Changed',
      cell: ({ updated_at: at }) => <Time at={at} />,
      width: '9rem',
      wideOnly: true,
    },
  ];
}

export function SegmentsPage() {
  const list = useListSearch([]);
  const open = useOpen();
  const columns = useColumns();
  const query = useQuery({
    queryKey: ['segments', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/segments', { params: { query: list.query }, signal })),
  });
  return (
    <>
      <PageHeader
        title="Segments"
        actions={
          <BrandLink to="/segments/new" className="button primary">
            New segment
          </BrandLink>
        }
      />
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Segments"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(`/segments/${id}`)}
            empty={<NoSegments />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

function NoSegments() {
  return (
    <EmptyState
      title="No segments yet"
      curl={curlOf('POST', '/v1/my/segments', {
        name: 'Pro customers in Germany',
        filters: [
          { name: 'country_code', predicate: 'eq', value: 'DE' },
          { name: 'data.plan', predicate: 'eq', value: 'pro' },
        ],
      })}
    >
      <p>
        A segment is a set of filters. It always contains the contacts that match them at the moment, by their
        data, their lists, and what they did.
      </p>
    </EmptyState>
  );
}
