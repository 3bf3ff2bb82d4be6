import { useQuery } from '@tanstack/react-query';
import { useAudienceNames } from '../../api/audience.ts';
import type { AudienceNames } from '../../api/choices.ts';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { UnpublishedMark } from '../../editors/draft/unpublished.tsx';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { countText, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { NewFlow } from './new-flow.tsx';
import { countSteps, triggerText } from './step-text.ts';

type Flow = Schemas['FlowSummary'];

/** The counts of a list change slowly, and a page may have a hundred flows. */
const LIST_POLL_MS = 10_000;

const FILTERS: readonly Filter[] = [
  { name: 'name', label: 'Name', type: 'search' },
  { name: 'status', label: 'Status', options: ['draft', 'active', 'paused', 'archived'] },
  { name: 'created_after', label: 'Created after', type: 'date' },
  { name: 'created_before', label: 'Created before', type: 'date' },
];

const columnsOf = (names: AudienceNames): readonly TableColumn<Flow>[] => [
  {
    key: 'name',
    header: 'Name',
    cell: ({ id, name }) => (
      <>
        <BrandLink to={`/flows/${id}`}>{name}</BrandLink>
        <UnpublishedMark kind="flows" id={id} />
      </>
    ),
  },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  { key: 'trigger', header: 'Who enters', cell: ({ trigger }) => triggerText(trigger, names) },
  {
    key: 'steps',
    header: 'Steps',
    align: 'right',
    wideOnly: true,
    cell: ({ steps }) => countText(countSteps(steps)),
  },
  { key: 'sent', header: 'Sent', align: 'right', cell: ({ sent_count: count }) => countText(count) },
  { key: 'changed', header: 'Changed', wideOnly: true, cell: ({ updated_at: at }) => <Time at={at} /> },
];

export function FlowsPage() {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const open = useOpen();
  const names = useAudienceNames();
  const query = useQuery({
    queryKey: ['flows', list.query],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/flows', { params: { query: { ...list.query, summary: 'true' } }, signal }),
      ),
    refetchInterval: LIST_POLL_MS,
  });
  return (
    <>
      <PageHeader title="Flows" actions={<NewFlow />} />
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {(page) => (
          <DataTable
            label="Flows"
            rows={page.rows}
            columns={columnsOf(names)}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(`/flows/${id}`)}
            empty={<NoFlows />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

const NoFlows = () => (
  <EmptyState
    title="No flows here"
    curl={curlOf('POST', '/v1/my/flows', {
      name: 'Welcome',
      trigger: { event: 'signed_up' },
      steps: [
        { type: 'email', subject: 'Hi {{ contact.first_name }}', body: '<p>Welcome.</p>' },
        { type: 'wait', duration: 86_400 },
        { type: 'email', subject: 'How is it going?', body: '<p>Tell us.</p>' },
      ],
    })}
  >
    <p>
      A flow takes each contact through steps at its own time: it sends, waits, branches and changes data. An
      event, a list or a segment lets contacts enter.
    </p>
  </EmptyState>
);
