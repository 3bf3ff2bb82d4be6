import { useQuery } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { ProfileTabs } from './profile-tabs.tsx';
import { programOf } from './user-agent.ts';

/** The sessions of the user. */
export function SessionsPage() {
  const sessions = useQuery({
    queryKey: ['sessions'],
    queryFn: ({ signal }) => call(() => api.GET('/v1/my/sessions', { signal })),
  });
  const endOthers = useAction({
    work: () => call(() => api.DELETE('/v1/my/sessions')),
    done: 'All other sessions have ended.',
    refresh: ['sessions'],
  });
  return (
    <>
      <PageHeader
        title="Sessions"
        actions={
          <ConfirmButton
            label="End all others"
            title="End all other sessions?"
            confirm="End them"
            busy={endOthers.busy}
            disabled={(sessions.data ?? []).length < 2}
            onConfirm={() => endOthers.run()}
          >
            <p>Everything but this browser is signed out at once.</p>
          </ConfirmButton>
        }
      >
        <p className="muted">
          Where you are signed in. End any session that you do not recognize, and change your password.
        </p>
      </PageHeader>
      <ProfileTabs />
      <QueryView query={sessions}>
        {(rows) => <DataTable label="Sessions" rows={rows} columns={COLUMNS} rowKey={({ id }) => id} />}
      </QueryView>
    </>
  );
}

type Session = Schemas['Session'];

const COLUMNS: readonly TableColumn<Session>[] = [
  {
    key: 'user_agent',
    header: 'Program',
    width: '20rem',
    cell: ({ user_agent: agent, current }) => (
      <>
        {current && <StatusBadge status="this session" tone="good" />}{' '}
        <span title={agent ?? undefined}>{programOf(agent)}</span>
      </>
    ),
  },
  { key: 'kind', header: 'By', cell: ({ kind }) => kind, wideOnly: true },
  { key: 'network', header: 'Network', cell: ({ network }) => network ?? '–' },
  { key: 'last_used_at', header: 'Last used', cell: (session) => <Time at={session.last_used_at} /> },
  { key: 'created_at', header: 'Signed in', cell: (session) => <Time at={session.created_at} /> },
  { key: 'expires_at', header: 'Ends', cell: (session) => <Time at={session.expires_at} />, wideOnly: true },
  {
    key: 'actions',
    header: 'Actions',
    cell: (session) => (session.current ? null : <EndButton session={session} />),
  },
];

function EndButton({ session }: { session: Session }) {
  const end = useAction({
    work: () => call(() => api.DELETE('/v1/my/sessions/{id}', { params: { path: { id: session.id } } })),
    done: 'Session ended.',
    refresh: ['sessions'],
  });
  return (
    <Button kind="danger" busy={end.busy} onClick={() => end.run()}>
      End
    </Button>
  );
}
