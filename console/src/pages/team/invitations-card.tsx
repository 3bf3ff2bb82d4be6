import { useQuery } from '@tanstack/react-query';
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Card, StatusBadge, Time } from '../../ui/details.tsx';
import { PAGE_SIZE } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import type { NewInvitation } from './roles.ts';

type Invitation = Schemas['Invitation'];

/** Who is invited. An account invites at most 100 addresses a day, so a page has practically all of them. */
export function InvitationsCard({ onSent }: { onSent: (invitation: NewInvitation) => void }) {
  const invitations = useQuery({
    queryKey: ['invitations'],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/invitations', { params: { query: { limit: PAGE_SIZE } }, signal })),
  });
  const columns: readonly TableColumn<Invitation>[] = [
    { key: 'email', header: 'Address', width: '18rem', cell: ({ email }) => email },
    { key: 'role', header: 'Role', cell: ({ role }) => role },
    { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
    { key: 'expires_at', header: 'Ends', cell: (invitation) => <Time at={invitation.expires_at} /> },
    {
      key: 'created_at',
      header: 'Invited',
      cell: (invitation) => <Time at={invitation.created_at} />,
      wideOnly: true,
    },
    {
      key: 'actions',
      header: 'Actions',
      cell: (invitation) => <InvitationActions invitation={invitation} onSent={onSent} />,
    },
  ];
  return (
    <Card title="Invitations">
      <QueryView query={invitations}>
        {({ rows, total }) => (
          <>
            <DataTable
              label="Invitations"
              rows={rows}
              columns={columns}
              rowKey={({ id }) => id}
              empty={<p className="muted">Nobody is invited at present.</p>}
            />
            {total > rows.length && <p className="muted">The newest {rows.length} are shown.</p>}
          </>
        )}
      </QueryView>
    </Card>
  );
}

function InvitationActions({
  invitation,
  onSent,
}: {
  invitation: Invitation;
  onSent: (invitation: NewInvitation) => void;
}) {
  const params = { path: { id: invitation.id } };
  const refresh = ['invitations'];
  const resend = useAction({
    work: () => call(() => api.POST('/v1/my/invitations/{id}/resend', { params, body: {} })),
    refresh,
    onDone: onSent,
  });
  const revoke = useAction({
    work: () => call(() => api.DELETE('/v1/my/invitations/{id}', { params })),
    done: 'Invitation revoked.',
    refresh,
  });
  return (
    <div className="actions">
      <Button busy={resend.busy} onClick={() => resend.run()}>
        Send again
      </Button>
      <ConfirmButton
        label="Revoke"
        title={`Revoke the invitation of ${invitation.email}?`}
        busy={revoke.busy}
        onConfirm={() => revoke.run()}
      >
        <p>Its link no longer works.</p>
      </ConfirmButton>
    </div>
  );
}
