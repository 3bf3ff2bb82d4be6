import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, callPage } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/details.tsx';
import { PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable } from '../../ui/table.tsx';
import { InvitationLinkDialog } from './invitation-link-dialog.tsx';
import { InvitationsCard } from './invitations-card.tsx';
import { InviteDialog } from './invite-dialog.tsx';
import { memberColumns } from './members.tsx';
import type { NewInvitation } from './roles.ts';

/** The users of the account, and who is invited. */
export function TeamPage() {
  const { account, role, signedIn } = useBrand();
  const list = useListSearch([]);
  const [inviting, setInviting] = useState(false);
  const [sent, setSent] = useState<NewInvitation | null>(null);
  const members = useQuery({
    queryKey: ['users', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/users', { params: { query: list.query }, signal })),
  });
  const columns = memberColumns({ ownId: signedIn.user.id, ownRole: role });
  return (
    <>
      <PageHeader
        title="Team"
        actions={
          <Button kind="primary" onClick={() => setInviting(true)}>
            Invite someone
          </Button>
        }
      >
        <p className="muted">The users of {account.name || `account ${account.id}`}, in all of its brands.</p>
      </PageHeader>
      <QueryView query={members}>
        {(page) => (
          <>
            <DataTable label="Users" rows={page.rows} columns={columns} rowKey={({ id }) => id} />
            <Pager list={list} page={page} />
          </>
        )}
      </QueryView>
      <InvitationsCard onSent={setSent} />
      <Card title="Roles">
        <ul>
          <li>Owners may do everything.</li>
          <li>Admins may do everything but invite, change or remove owners.</li>
          <li>Members use the account, without its team, API keys, webhooks and wallet.</li>
        </ul>
      </Card>
      {inviting && (
        <InviteDialog
          onClose={() => setInviting(false)}
          onSent={(invitation) => {
            setInviting(false);
            setSent(invitation);
          }}
        />
      )}
      <InvitationLinkDialog invitation={sent} onClose={() => setSent(null)} />
    </>
  );
}
