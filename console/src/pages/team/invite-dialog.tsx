import type { SubmitEvent } from 'react';
import { api, call } from '../../api/client.ts';
import type { Role } from '../../api/session.ts';
import { useBrand } from '../../shell/brand.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { Notice } from '../../ui/notice.tsx';
import { grantable, isRole, type NewInvitation } from './roles.ts';

export function InviteDialog({
  onClose,
  onSent,
}: {
  onClose: () => void;
  onSent: (invitation: NewInvitation) => void;
}) {
  const { role: ownRole } = useBrand();
  const invite = useAction({
    work: (body: { email: string; role: Role }) => call(() => api.POST('/v1/my/invitations', { body })),
    refresh: ['invitations'],
    fields: ['email', 'role'],
    onDone: onSent,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const role = formText(form, 'role');
    invite.run({ email: formText(form, 'email').trim(), role: isRole(role) ? role : 'member' });
  };
  return (
    <Dialog open onClose={onClose} title="Invite someone">
      <form onSubmit={submit}>
        {invite.fault !== null && <Notice tone="bad">{invite.fault}</Notice>}
        <Field label="Email address" error={invite.errorOf('email')}>
          <TextInput name="email" type="email" required autoFocus autoComplete="off" />
        </Field>
        <Field label="Role" error={invite.errorOf('role')}>
          <Select name="role" options={grantable(ownRole)} />
        </Field>
        <div className="actions">
          <Button type="submit" kind="primary" busy={invite.busy}>
            Invite
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
