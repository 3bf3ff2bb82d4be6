import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useAudienceNames } from '../../api/audience.ts';
import type { AudienceNames } from '../../api/choices.ts';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { isUnfinished } from '../../api/work.ts';
import { Button } from '../../ui/button.tsx';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { centsText, countText, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { audienceText } from './audience-text.ts';
import { ValidationForm } from './validation-form.tsx';

type Operation = Schemas['ValidationOperation'];

const FILTERS: readonly Filter[] = [
  { name: 'status', label: 'Status', options: ['pending', 'running', 'completed', 'canceled', 'failed'] },
];

const columnsFor = (names: AudienceNames): readonly TableColumn<Operation>[] => [
  {
    key: 'audience',
    header: 'Audience',
    cell: ({ id, audience }) => (
      <BrandLink to={`/validations/${id}`}>{audienceText(audience, names)}</BrandLink>
    ),
  },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'candidates',
    header: 'Addresses',
    align: 'right',
    cell: ({ candidate_count: count }) => countText(count),
  },
  {
    key: 'undeliverable',
    header: 'Undeliverable',
    align: 'right',
    cell: ({ counts }) => countText(counts.undeliverable),
    wideOnly: true,
  },
  {
    key: 'charged',
    header: 'Charged',
    align: 'right',
    cell: ({ charged_cents: cents }) => centsText(cents),
    wideOnly: true,
  },
  { key: 'created', header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
];

export function ValidationsPage() {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const open = useOpen();
  const names = useAudienceNames();
  const [starting, setStarting] = useState(false);
  const query = useQuery({
    queryKey: ['validation_operations', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/validation_operations', { params: { query: list.query }, signal })),
    refetchInterval: ({ state }) => (state.data?.rows.some(isUnfinished) === true ? POLL_MS : false),
  });
  return (
    <>
      <PageHeader
        title="Validations"
        actions={
          <Button kind="primary" onClick={() => setStarting(true)}>
            Validate addresses
          </Button>
        }
      />
      <Dialog open={starting} onClose={() => setStarting(false)} title="Validate addresses">
        <ValidationForm onCancel={() => setStarting(false)} />
      </Dialog>
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Validations"
            rows={rows}
            columns={columnsFor(names)}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(`/validations/${id}`)}
            empty={Object.keys(list.filter).length > 0 ? <p>No validation matches.</p> : <NoValidations />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

function NoValidations() {
  return (
    <EmptyState
      title="No validations yet"
      curl={curlOf('POST', '/v1/my/validation_operations/quote', { list_id: 7 })}
    >
      <p>
        A validation checks the email addresses of a list or segment, and says for each whether mail would
        arrive. It costs money, so you see the price first. A validation never starts by itself.
      </p>
    </EmptyState>
  );
}
