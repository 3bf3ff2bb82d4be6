import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, callPage } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { CreateWebhook } from './create-webhook.tsx';
import type { Webhook } from './webhook-events.ts';
import { WebhookState } from './webhook-state.tsx';

const columns: readonly TableColumn<Webhook>[] = [
  {
    key: 'url',
    header: 'URL',
    cell: ({ id, url }) => <BrandLink to={`/webhooks/${id}`}>{url}</BrandLink>,
  },
  { key: 'state', header: 'State', cell: (webhook) => <WebhookState webhook={webhook} /> },
  {
    key: 'events',
    header: 'Events',
    cell: ({ events }) => (
      <span className="actions">
        {events.map((type) => (
          <StatusBadge key={type} status={type} />
        ))}
      </span>
    ),
  },
  { key: 'created', header: 'Created', cell: ({ created_at: at }) => <Time at={at} />, wideOnly: true },
];

/** The URLs that receive the events of the brand. */
export function WebhooksPage() {
  const open = useOpen();
  const list = useListSearch([]);
  const [creating, setCreating] = useState(false);
  const query = useQuery({
    queryKey: ['webhooks', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/webhooks', { params: { query: list.query }, signal })),
  });
  const create = (
    <Button kind="primary" onClick={() => setCreating(true)}>
      Create a webhook
    </Button>
  );
  return (
    <>
      <PageHeader title="Webhooks" actions={create}>
        <p className="muted">
          Your own program is notified when a message is delivered, bounces or is opened.
        </p>
      </PageHeader>
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Webhooks"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(`/webhooks/${id}`)}
            empty={
              <EmptyState
                title="No webhook yet"
                curl={curlOf('POST', '/v1/my/webhooks', {
                  url: 'https://example.com/hooks/carillon',
                  events: ['email.delivered', 'email.bounced'],
                })}
              >
                <p>
                  A webhook is one of your https URLs. Carillon sends each event there as a signed POST,
                  retries for more than a day if your server does not respond, and keeps every attempt here
                  for 7 days.
                </p>
              </EmptyState>
            }
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
      {creating && <CreateWebhook onClose={() => setCreating(false)} />}
    </>
  );
}
