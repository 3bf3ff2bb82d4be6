import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, callPage } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/code.tsx';
import { Card, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Filters, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { answerOf, pollOfAll, STATUSES, type Delivery } from './deliveries.ts';
import { RetryAll } from './retry-all.tsx';
import { RetryButton } from './retry-button.tsx';
import { eventOf, typesOf, type Webhook } from './webhook-events.ts';

const columnsOf = (webhook: Webhook): readonly TableColumn<Delivery>[] => [
  {
    key: 'type',
    header: 'Event',
    cell: ({ id, type, test }) => (
      <>
        <BrandLink to={`/webhooks/${webhook.id}/deliveries/${id}`}>{type}</BrandLink>{' '}
        {test && <StatusBadge status="test" />}
      </>
    ),
  },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'answer',
    header: 'Last response',
    cell: ({ response_code, last_error }) => answerOf({ response_code, error: last_error }),
  },
  {
    key: 'next',
    header: 'Next attempt',
    cell: ({ next_attempt_at: at }) => <Time at={at} />,
  },
  { key: 'attempts', header: 'Attempts', align: 'right', cell: ({ attempt_count: count }) => count },
  { key: 'created', header: 'Created', cell: ({ created_at: at }) => <Time at={at} /> },
  {
    key: 'retry',
    header: 'Retry',
    wideOnly: true,
    cell: (delivery) => <RetryButton delivery={delivery} enabled={webhook.enabled} />,
  },
];

/** What happened to each event of the last 7 days: the answer, and when the next attempt is. */
export function DeliveryList({ webhook }: { webhook: Webhook }) {
  const open = useOpen();
  const [retrying, setRetrying] = useState(false);
  const list = useListSearch(['status', 'type']);
  const types = typesOf(webhook);
  const { id } = webhook;
  const asked = {
    ...list.query,
    status: STATUSES.find((status) => status === list.search.status),
    type: eventOf(types, list.search.type),
  };
  const query = useQuery({
    queryKey: ['deliveries', id, asked],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/webhooks/{id}/deliveries', { params: { path: { id }, query: asked }, signal }),
      ),
    refetchInterval: ({ state }) => pollOfAll(state.data?.rows ?? []),
  });
  const columns = useMemo(() => columnsOf(webhook), [webhook]);
  return (
    <Card
      title="Deliveries of the last 7 days"
      actions={
        <Button disabled={!webhook.enabled} onClick={() => setRetrying(true)}>
          Retry all failed
        </Button>
      }
    >
      <Filters
        list={list}
        filters={[
          { name: 'status', label: 'Status', options: STATUSES },
          { name: 'type', label: 'Event', options: types },
        ]}
      />
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Deliveries"
            rows={rows}
            columns={columns}
            rowKey={(delivery) => delivery.id}
            onOpen={(delivery) => open(`/webhooks/${id}/deliveries/${delivery.id}`)}
            empty={
              asked.status || asked.type ? (
                <p className="muted">No delivery matches these filters.</p>
              ) : (
                <EmptyState title="Nothing was sent yet">
                  <p>Send a test to see an event arrive at your server, with its response here.</p>
                </EmptyState>
              )
            }
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
      {retrying && <RetryAll webhook={webhook} onClose={() => setRetrying(false)} />}
    </Card>
  );
}
