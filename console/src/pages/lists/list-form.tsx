import type { SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Field, TextArea, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { Notice } from '../../ui/notice.tsx';

type ContactList = Schemas['ContactList'];

/** Creates a list, or changes one. */
export function ListForm({
  list,
  onDone,
  onCancel,
}: {
  list?: ContactList;
  onDone: (saved: ContactList) => void;
  onCancel: () => void;
}) {
  const save = useAction({
    work: (body: { name: string; description: string | null }) =>
      list
        ? call(() => api.PATCH('/v1/my/lists/{id}', { params: { path: { id: list.id } }, body }))
        : call(() => api.POST('/v1/my/lists', { body })),
    done: 'List saved.',
    refresh: ['lists'],
    fields: ['name', 'description'],
    onDone,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    save.run({ name: formText(form, 'name'), description: formText(form, 'description') || null });
  };
  return (
    <form onSubmit={submit}>
      {save.fault !== null && <Notice tone="bad">{save.fault}</Notice>}
      <Field label="Name" hint="Recipients see it on their preference page." error={save.errorOf('name')}>
        <TextInput name="name" required defaultValue={list?.name ?? ''} />
      </Field>
      <Field label="Description" error={save.errorOf('description')}>
        <TextArea name="description" rows={3} defaultValue={list?.description ?? ''} />
      </Field>
      <div className="actions">
        <Button type="submit" kind="primary" busy={save.busy}>
          Save
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}
