import { useQuery } from '@tanstack/react-query';
import { api, call, type Schemas } from '../api/client.ts';
import { useAction } from '../ui/action.ts';
import { Button } from '../ui/button.tsx';
import { Time } from '../ui/details.tsx';
import { Notice } from '../ui/notice.tsx';
import { useReloadSignedIn } from './reload-signed-in.ts';

const FRESH_MS = 300_000;

/** The invitations of the signed-in user to other accounts, on every page until answered. Most users have none. */
export function OwnInvitations() {
  const { data = [] } = useQuery({
    queryKey: ['own-invitations'],
    queryFn: () => call(() => api.GET('/v1/my/user/invitations')),
    staleTime: FRESH_MS,
  });
  return data.map((invitation) => <OwnInvitation key={invitation.id} invitation={invitation} />);
}

function OwnInvitation({ invitation }: { invitation: Schemas['OwnInvitation'] }) {
  const reloadSignedIn = useReloadSignedIn();
  const params = { path: { id: invitation.id } };
  const accountName = invitation.account_name || `account ${invitation.account_id}`;
  const refresh = ['own-invitations'];
  const accept = useAction({
    work: () => call(() => api.POST('/v1/my/user/invitations/{id}/accept', { params, body: {} })),
    done: `You have joined ${accountName}.`,
    refresh,
    onDone: () => void reloadSignedIn(),
  });
  const decline = useAction({
    work: () => call(() => api.POST('/v1/my/user/invitations/{id}/decline', { params, body: {} })),
    done: 'Invitation declined.',
    refresh,
  });
  return (
    <Notice tone="busy" title={`You are invited to ${accountName} as ${invitation.role}`}>
      <p>
        The invitation ends <Time at={invitation.expires_at} />.
      </p>
      <div className="actions">
        <Button kind="primary" busy={accept.busy} onClick={() => accept.run()}>
          Accept
        </Button>
        <Button busy={decline.busy} onClick={() => decline.run()}>
          Decline
        </Button>
      </div>
    </Notice>
  );
}
