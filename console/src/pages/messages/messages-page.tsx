import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, callPage, type Page, type Schemas } from '../../api/client.ts';
import { messageStatuses } from '../../api/message-statuses.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyState, curlOf } from '../../ui/code.tsx';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Filters, isCutShort, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch, type ListState } from '../../ui/list-search.ts';
import { Notice } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { ExportButton } from '../exports/export-button.tsx';
import { OriginLink } from './origin-link.tsx';
import { reasonOf } from './reasons.ts';
import { SendMessageDialog } from './send-message-dialog.tsx';

type Message = Schemas['Message'];

const FILTERS: readonly Filter[] = [
  { name: 'to', label: 'To (whole address)' },
  { name: 'subject', label: 'Subject contains', type: 'search' },
  { name: 'status', label: 'Status', options: messageStatuses },
  { name: 'channel', label: 'Channel', options: ['email', 'sms'] },
  { name: 'template_id', label: 'Template id', type: 'number' },
  { name: 'contact_id', label: 'Contact id', type: 'number' },
  { name: 'created_after', label: 'Accepted from', type: 'date' },
  { name: 'created_before', label: 'Accepted before', type: 'date' },
];

const COLUMNS: readonly TableColumn<Message>[] = [
  {
    key: 'status',
    header: 'Status',
    cell: ({ status, test }) => (
      <>
        <StatusBadge status={status} /> {test && <StatusBadge status="test" tone="quiet" />}
      </>
    ),
  },
  { key: 'why', header: 'Why', cell: (message) => <Why message={message} /> },
  { key: 'to', header: 'To', cell: (message) => <MessageLink message={message} /> },
  { key: 'subject', header: 'Subject', cell: ({ subject, channel }) => subject ?? channel.toUpperCase() },
  { key: 'created', header: 'Accepted', cell: ({ created_at }) => <Time at={created_at} /> },
  { key: 'origin', header: 'Sent by', wideOnly: true, cell: (message) => <OriginLink message={message} /> },
];

const Why = ({ message }: { message: Message }) =>
  message.status === 'scheduled' ? (
    <>
      Leaves <Time at={message.scheduled_at} />
    </>
  ) : (
    reasonOf(message)?.title
  );

const MessageLink = ({ message }: { message: Message }) => (
  <BrandLink to={`/messages/${message.id}`}>{message.to ?? `Message ${message.id}`}</BrandLink>
);

/** Every message of the brand, newest first. */
export function MessagesPage() {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const open = useOpen();
  const [sends, setSends] = useState(false);
  const query = useQuery({
    queryKey: ['messages', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/messages', { params: { query: list.query }, signal })),
  });
  const send = () => setSends(true);
  return (
    <>
      <PageHeader
        title="Messages"
        actions={
          <>
            <Button onClick={() => void query.refetch()} busy={query.isFetching}>
              Refresh
            </Button>
            <ExportButton resource="messages" filters={list.filter} />
            <Button kind="primary" onClick={send}>
              Send a message
            </Button>
          </>
        }
      />
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {(page) => (
          <DataTable
            label="Messages"
            rows={page.rows}
            columns={COLUMNS}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(`/messages/${id}`)}
            empty={<NoMessages list={list} page={page} onSend={send} />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
      {sends && <SendMessageDialog onClose={() => setSends(false)} />}
    </>
  );
}

function NoMessages({ list, page, onSend }: { list: ListState; page: Page<Message>; onSend: () => void }) {
  if (isCutShort(page))
    return (
      <Notice>None of the messages in this part of the list match. Older ones may: search on below.</Notice>
    );
  if (FILTERS.some(({ name }) => list.search[name]) || list.page > 1 || list.after !== null)
    return (
      <Notice title="No message matches these filters">
        {list.search.to && (
          <p>
            Carillon has accepted no message to this address. “To” takes the whole address. If your program
            has sent one, its request was refused: its response says why.
          </p>
        )}
      </Notice>
    );
  return (
    <EmptyState
      title="No messages yet"
      curl={curlOf('POST', '/v1/my/messages', {
        channel: 'email',
        to: 'you@example.com',
        subject: 'My first message',
        body: 'It works.',
      })}
    >
      <p>Every email and SMS of the brand is listed here, with what became of it.</p>
      <div className="actions">
        <Button kind="primary" onClick={onSend}>
          Send a message to yourself
        </Button>
      </div>
    </EmptyState>
  );
}
