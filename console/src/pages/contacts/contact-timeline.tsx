import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api, callPage, type Page, type Schemas } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { Card, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { Pager } from '../../ui/list-page.tsx';
import { PAGE_SIZE, useListSearch, type ListState } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';

type TimelineItem = Schemas['TimelineItem'];

/** Pages reach back this many items; `before` goes further. */
const MAX_DEPTH = 10_000;
const MAX_PAGES = MAX_DEPTH / PAGE_SIZE;

function happened({ id, event, message, subscription }: TimelineItem): ReactNode {
  if (message)
    return (
      <>
        <BrandLink to={`/messages/${id}`}>
          {message.subject || `${message.channel === 'sms' ? 'SMS' : 'Email'} ${id}`}
        </BrandLink>{' '}
        <StatusBadge status={message.status} />{' '}
        {message.opened_at !== null && <StatusBadge status="opened" />}{' '}
        {message.clicked_at !== null && <StatusBadge status="clicked" />}
      </>
    );
  if (subscription)
    return (
      <>
        {subscription.subscribed ? 'Subscribed' : 'Unsubscribed'}: {subscription.channel}
        {subscription.source !== null && <span className="muted"> ({subscription.source})</span>}
      </>
    );
  return event?.event;
}

function detail({ event, message }: TimelineItem): ReactNode {
  if (message?.campaign_id !== null && message?.campaign_id !== undefined)
    return <BrandLink to={`/campaigns/${message.campaign_id}`}>Campaign {message.campaign_id}</BrandLink>;
  if (message?.flow_id !== null && message?.flow_id !== undefined)
    return <BrandLink to={`/flows/${message.flow_id}`}>Flow {message.flow_id}</BrandLink>;
  if (!event) return null;
  const hasData = Object.keys(event.data).length > 0;
  return (
    <>
      {event.amount !== null && `${event.amount} `}
      {hasData && <code>{JSON.stringify(event.data)}</code>}
    </>
  );
}

const columns: readonly TableColumn<TimelineItem>[] = [
  { key: 'at', header: 'When', cell: ({ occurred_at: at }) => <Time at={at} />, width: '9rem' },
  { key: 'type', header: 'Type', cell: ({ type }) => type, width: '8rem', wideOnly: true },
  { key: 'what', header: 'What', cell: happened },
  { key: 'detail', header: 'Details', cell: detail, wideOnly: true },
];

/** What a contact did and got, newest first. */
export function ContactTimeline({ contactId }: { contactId: number }) {
  const list = useListSearch(['before']);
  const query = useQuery({
    queryKey: ['contacts', contactId, 'timeline', list.query],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/contacts/{id}/timeline', {
          params: { path: { id: contactId }, query: list.query },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
  return (
    <Card title="Timeline">
      <QueryView query={query}>
        {(page) => (
          <>
            <DataTable
              label="Timeline"
              rows={page.rows}
              columns={columns}
              rowKey={({ type, id }) => `${type} ${id}`}
              empty={<p className="muted">Nothing yet. Events, messages and subscriptions appear here.</p>}
            />
            <Pager list={list} page={{ ...page, pages: Math.min(page.pages, MAX_PAGES) }} />
            <Further list={list} page={page} />
          </>
        )}
      </QueryView>
    </Card>
  );
}

function Further({ list, page }: { list: ListState; page: Page<TimelineItem> }) {
  const last = page.rows.at(-1);
  return (
    <div className="actions">
      {list.search.before !== undefined && (
        <Button onClick={() => list.set({ before: undefined })}>Back to the newest</Button>
      )}
      {last && page.pages > MAX_PAGES && list.page === MAX_PAGES && (
        <Button onClick={() => list.set({ before: last.occurred_at })}>Earlier</Button>
      )}
    </div>
  );
}
