import type { SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Checkbox, Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { Notice } from '../../ui/notice.tsx';
import { useRequestKey } from '../../ui/request-key.ts';

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
  const keyOf = useRequestKey();
  const save = (body: Given) =>
    inbox
      ? call(() => api.PATCH('/v1/my/inboxes/{id}', { params: { path: { id: inbox.id } }, body }))
      : call(() =>
          api.POST('/v1/my/inboxes', { params: { header: { 'Idempotency-Key': keyOf(body) } }, body }),
        );
  const action = useAction({
    work: save,
    done: ({ address }) => (inbox ? `${address} is changed.` : `${address} is created.`),
    refresh: ['inboxes', 'domains'],
    fields: ['address', 'name'],
    onDone: onClose,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    action.run(givenIn(new FormData(event.currentTarget)));
  };
  return (
    <Dialog open onClose={onClose} title={inbox ? `Edit ${inbox.address}` : 'Create an inbox'}>
      <form onSubmit={submit}>
        {!inbox && (
          <Field
            label="Address"
            hint="At a verified domain of the brand; best at a subdomain, such as support@inbox.example.com. Leave it empty for the built-in inbox."
            error={action.errorOf('address')}
          >
            <TextInput name="address" type="email" autoComplete="off" autoFocus />
          </Field>
        )}
        <Field label="Name" hint="Shown as the sender of answers." error={action.errorOf('name')}>
          <TextInput name="name" autoComplete="off" defaultValue={inbox?.name ?? ''} />
        </Field>
        <Checkbox name="enabled" defaultChecked={inbox?.enabled ?? true} label="Accept mail" />
        <Checkbox
          name="create_contacts"
          defaultChecked={inbox?.create_contacts ?? false}
          label="Create a contact for each new proven sender"
          hint="The contact is not subscribed to anything."
        />
        {action.fault !== null && <Notice tone="bad">{action.fault}</Notice>}
        <div className="actions">
          <Button type="submit" kind="primary" busy={action.busy}>
            {inbox ? 'Save' : 'Create inbox'}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
