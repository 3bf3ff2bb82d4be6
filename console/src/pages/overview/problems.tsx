import { useQueries } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { Card, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { problemStates, reasonOf } from '../messages/reasons.ts';

type Message = Schemas['Message'];

const OF_EACH = 5;
const SHOWN = 10;
const REFRESH_MS = 30_000;

const COLUMNS: readonly TableColumn<Message>[] = [
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  {
    key: 'to',
    header: 'To',
    cell: ({ id, to }) => <BrandLink to={`/messages/${id}`}>{to ?? `Message ${id}`}</BrandLink>,
  },
  { key: 'why', header: 'Why', cell: (message) => reasonOf(message)?.title ?? '' },
  {
    key: 'subject',
    header: 'Subject',
    wideOnly: true,
    cell: ({ subject, channel }) => subject ?? channel.toUpperCase(),
  },
  { key: 'created', header: 'Accepted', cell: ({ created_at }) => <Time at={created_at} /> },
];

/** The newest messages that wait or did not arrive. Each opens with its reason. */
export function Problems() {
  const open = useOpen();
  const queries = useQueries({
    queries: problemStates.map((status) => ({
      queryKey: ['messages', 'problems', status],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        callPage(() => api.GET('/v1/my/messages', { params: { query: { status, limit: OF_EACH } }, signal })),
      refetchInterval: REFRESH_MS,
    })),
  });
  const error = queries.find((query) => query.error)?.error;
  const isLoading = queries.some((query) => query.isPending);
  const rows = queries
    .flatMap(({ data }) => data?.rows ?? [])
    .sort((one, other) => other.id - one.id)
    .slice(0, SHOWN);
  return (
    <Card title="Recent problems" actions={<AllLinks />}>
      {error && <Notice tone="bad">{messageOf(error)}</Notice>}
      {isLoading && rows.length === 0 ? (
        <div className="loading" role="status">
          Loading…
        </div>
      ) : (
        <DataTable
          label="Recent problems"
          rows={rows}
          columns={COLUMNS}
          rowKey={({ id }) => id}
          onOpen={({ id }) => open(`/messages/${id}`)}
          empty={<p className="muted">None among the newest messages.</p>}
        />
      )}
    </Card>
  );
}

function AllLinks() {
  return (
    <>
      {problemStates.map((status) => (
        <BrandLink key={status} to="/messages" search={{ status }}>
          All {status}
        </BrandLink>
      ))}
    </>
  );
}
