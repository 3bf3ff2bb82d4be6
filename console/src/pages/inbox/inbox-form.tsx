import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Checkbox, Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { useKept } from '../../ui/kept-form.tsx';

type Inbox = Schemas['Inbox'];

interface Given {
  address?: string;
  name: string | null;
  enabled: boolean;
  create_contacts: boolean;
}

function givenIn(form: FormData): Given {
  const address = formText(form, 'address').trim();
  return {
    ...(address === '' ? {} : { address }),
    name: formText(form, 'name').trim() || null,
    enabled: form.has('enabled'),
    create_contacts: form.has('create_contacts'),
  };
}

/** Creates or changes an inbox. @param inbox the one to change */
export function InboxForm({ inbox, onClose }: { inbox?: Inbox; onClose: () => void }) {
  const save = (body: Given, key: string) =>
    inbox
      ? call(() => api.PATCH('/v1/my/inboxes/{id}', { params: { path: { id: inbox.id } }, body }))
      : call(() => api.POST('/v1/my/inboxes', { params: { header: { 'Idempotency-Key': key } }, body }));
  const kept = useKept(inbox ? `inbox.${inbox.id}` : 'new-inbox');
  const action = useAction({
    work: save,
    done: ({ address }) => (inbox ? `${address} is changed.` : `${address} is created.`),
    refresh: ['inboxes', 'domains'],
    fields: ['address', 'name'],
    onDone: onClose,
    kept,
  });
  const submit = (form: FormData) => action.run(givenIn(form));
  return (
    <Dialog open onClose={onClose} title={inbox ? `Edit ${inbox.address}` : 'Create an inbox'}>
      <ActionForm
        action={action}
        kept={kept}
        onSubmit={submit}
        submit={inbox ? 'Save' : 'Create inbox'}
        close={{ label: 'Cancel', onClick: onClose }}
      >
        {!inbox && (
          <Field
            label="Address"
            hint="At a verified domain of the brand; preferably at a subdomain, such as support@inbox.example.com. Leave it empty for the built-in inbox."
            error={action.errorOf('address')}
          >
            <TextInput name="address" type="email" autoComplete="off" autoFocus />
          </Field>
        )}
        <Field label="Name" hint="Shown as the sender of replies." error={action.errorOf('name')}>
          <TextInput name="name" autoComplete="off" defaultValue={inbox?.name ?? ''} />
        </Field>
        <Checkbox name="enabled" defaultChecked={inbox?.enabled ?? true} label="Accept mail" />
        <Checkbox
          name="create_contacts"
          defaultChecked={inbox?.create_contacts ?? false}
          label="Create a contact for each new verified sender"
          hint="The contact is not subscribed to anything."
        />
      </ActionForm>
    </Dialog>
  );
}
