import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type Choice, labelOf } from '../../api/choices.ts';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { EmptyState } from '../../ui/code.tsx';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Filters, PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch, type ListState } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { idOf, useAssignees, useInboxes } from './choices.ts';
import { InboxTabs } from './inbox-tabs.tsx';

type Conversation = Schemas['Conversation'];

const POLL_LIST_MS = 15_000;
const STATUSES = ['open', 'closed'] as const;
const FILTERS = ['status', 'unread', 'assignee_id', 'inbox_id', 'contact_id', 'search'];

const columnsOf = (
  assignees: readonly Choice[],
  inboxes: readonly Choice[],
): readonly TableColumn<Conversation>[] => [
  {
    key: 'subject',
    header: 'Subject',
    cell: ({ id, subject, unread_count: unread }) => (
      <>
        <BrandLink to={`/inbox/${id}`} {...(unread > 0 ? { className: 'unread' } : {})}>
          {subject || '(no subject)'}
        </BrandLink>{' '}
        {unread > 0 && <StatusBadge status={`${unread} unread`} tone="busy" />}
      </>
    ),
  },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'assignee',
    header: 'Assigned to',
    cell: ({ assignee_id: id }) =>
      id === null ? <span className="muted">–</span> : labelOf(assignees, id, `number ${id}`),
  },
  {
    key: 'inbox',
    header: 'Inbox',
    cell: ({ inbox_id: id }) => labelOf(inboxes, id, `number ${id}`),
    wideOnly: true,
  },
  { key: 'last', header: 'Last message', cell: ({ last_message_at: at }) => <Time at={at} /> },
];

/** Returns the query of the request; what the URL has of another type is left out. */
const queryOf = ({ page, search, query }: ListState) => ({
  page,
  limit: Number(query.limit),
  status: STATUSES.find((status) => status === search.status),
  unread: (['true', 'false'] as const).find((unread) => unread === search.unread),
  assignee_id: idOf(search.assignee_id),
  inbox_id: idOf(search.inbox_id),
  contact_id: idOf(search.contact_id),
  search: search.search,
});

/** Mail that people wrote to the inboxes of the brand, with the answers. */
export function ConversationsPage() {
  const open = useOpen();
  const list = useListSearch(FILTERS);
  const assignees = useAssignees();
  const inboxes = useInboxes();
  const asked = queryOf(list);
  const query = useQuery({
    queryKey: ['conversations', asked],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/conversations', { params: { query: asked }, signal })),
    refetchInterval: POLL_LIST_MS,
  });
  const columns = useMemo(() => columnsOf(assignees, inboxes), [assignees, inboxes]);
  const isFiltered = FILTERS.some((name) => list.search[name] !== undefined);
  return (
    <>
      <PageHeader title="Inbox" />
      <InboxTabs />
      <Filters
        list={list}
        filters={[
          { name: 'search', label: 'Subject or address', type: 'search' },
          { name: 'status', label: 'Status', options: STATUSES },
          {
            name: 'unread',
            label: 'Unread',
            options: [
              { value: 'true', label: 'Unread only' },
              { value: 'false', label: 'Read only' },
            ],
          },
          { name: 'assignee_id', label: 'Assigned to', options: assignees },
          { name: 'inbox_id', label: 'Inbox', options: inboxes },
        ]}
      />
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Conversations"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(`/inbox/${id}`)}
            empty={isFiltered ? <p className="muted">No conversation matches.</p> : <NoConversation />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

const NoConversation = () => (
  <EmptyState title="No mail yet">
    <p>
      Mail that people send to one of your inboxes becomes a conversation here, which you can read, assign and
      reply to. <BrandLink to="/inbox/inboxes">See your inboxes</BrandLink>
    </p>
  </EmptyState>
);
