import { api, call } from '../../api/client.ts';
import type { Role } from '../../api/session.ts';
import { useBrand } from '../../shell/brand.ts';
import { useAction } from '../../ui/action.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { useKept } from '../../ui/kept-form.tsx';
import { grantable, isRole, type NewInvitation } from './roles.ts';

export function InviteDialog({
  onClose,
  onSent,
}: {
  onClose: () => void;
  onSent: (invitation: NewInvitation) => void;
}) {
  const { role: ownRole } = useBrand();
  const kept = useKept('invitation');
  const invite = useAction({
    work: (body: { email: string; role: Role }) => call(() => api.POST('/v1/my/invitations', { body })),
    refresh: ['invitations'],
    fields: ['email', 'role'],
    onDone: onSent,
    kept,
  });
  const submit = (form: FormData) => {
    const role = formText(form, 'role');
    invite.run({ email: formText(form, 'email').trim(), role: isRole(role) ? role : 'member' });
  };
  return (
    <Dialog open onClose={onClose} title="Invite someone">
      <ActionForm
        action={invite}
        kept={kept}
        onSubmit={submit}
        submit="Invite"
        close={{ label: 'Cancel', onClick: onClose }}
      >
        <Field label="Email address" error={invite.errorOf('email')}>
          <TextInput name="email" type="email" required autoFocus autoComplete="off" />
        </Field>
        <Field label="Role" error={invite.errorOf('role')}>
          <Select name="role" options={grantable(ownRole)} />
        </Field>
      </ActionForm>
    </Dialog>
  );
}
