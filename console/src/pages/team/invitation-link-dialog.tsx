import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import type { NewInvitation } from './roles.ts';

/** Says how an invitation reaches its address; shows its link if the service cannot mail it, which is only once. */
export function InvitationLinkDialog({
  invitation,
  onClose,
}: {
  invitation: NewInvitation | null;
  onClose: () => void;
}) {
  return (
    <Dialog open={invitation !== null} onClose={onClose} title="Invited">
      {invitation && (invitation.link === null ? <Unlinked {...invitation} /> : <Linked {...invitation} />)}
      <div className="actions">
        <Button kind="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  );
}

const Unlinked = ({ email }: NewInvitation) => (
  <p>
    {email} is invited by mail, if this service sends its own mail. A user of this service finds the
    invitation in the console, after signing in.
  </p>
);

function Linked({ email, link }: NewInvitation) {
  // Without PUBLIC_URL the API gives only the path.
  const url = new URL(link ?? '', globalThis.location.origin).href;
  return (
    <>
      <p>
        This service does not send mail of its own, so give this link to {email} yourself. It is shown only
        now, and works once, for seven days. Anyone who opens it becomes the user of that address.
      </p>
      <CodeBlock text={url} />
    </>
  );
}
