import { useState, type SubmitEvent } from 'react';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { addressLines } from '../../ui/address-lines.ts';
import { Button } from '../../ui/button.tsx';
import { Field, TextArea } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { ItemResults } from '../../ui/item-results.tsx';
import { Notice } from '../../ui/notice.tsx';

/** Adds and removes pasted addresses, up to 10,000 at once. */
export function MembersDialog({ listId, onClose }: { listId: number; onClose: () => void }) {
  const [key, setKey] = useState(() => crypto.randomUUID());
  const change = useAction({
    work: (body: { add: string[]; remove: string[] }) =>
      call(() =>
        api.POST('/v1/my/lists/{id}/contacts/bulk', {
          params: { path: { id: listId }, header: { 'Idempotency-Key': key } },
          body,
        }),
      ),
    refresh: ['lists', 'contacts'],
    fields: ['add', 'remove'],
    onDone: () => setKey(crypto.randomUUID()),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    change.run({
      add: addressLines(formText(form, 'add')),
      remove: addressLines(formText(form, 'remove')),
    });
  };
  return (
    <form onSubmit={submit}>
      {change.fault !== null && <Notice tone="bad">{change.fault}</Notice>}
      {change.result && <ItemResults results={change.result.results} />}
      <Field
        label="Email addresses to add"
        hint="One a line. Addresses that no contact has become new contacts."
        error={change.errorOf('add')}
      >
        <TextArea name="add" rows={6} spellCheck={false} />
      </Field>
      <Field label="Email addresses to remove" error={change.errorOf('remove')}>
        <TextArea name="remove" rows={3} spellCheck={false} />
      </Field>
      <div className="actions">
        <Button type="submit" kind="primary" busy={change.busy}>
          Change the list
        </Button>
        <Button onClick={onClose}>Done</Button>
      </div>
    </form>
  );
}
