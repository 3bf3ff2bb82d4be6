import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { Checkbox, Field, TextArea, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { useKept } from '../../ui/kept-form.tsx';

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
  const kept = useKept(list ? `list.${list.id}` : 'new-list');
  const save = useAction({
    work: (body: { name: string; description: string | null; visible: boolean }, key) =>
      list
        ? call(() => api.PATCH('/v1/my/lists/{id}', { params: { path: { id: list.id } }, body }))
        : call(() => api.POST('/v1/my/lists', { params: { header: { 'Idempotency-Key': key } }, body })),
    done: 'List saved.',
    refresh: ['lists'],
    fields: ['name', 'description', 'visible'],
    onDone,
    kept,
  });
  const submit = (form: FormData) => {
    save.run({
      name: formText(form, 'name'),
      description: formText(form, 'description') || null,
      visible: form.has('visible'),
    });
  };
  return (
    <ActionForm
      action={save}
      kept={kept}
      onSubmit={submit}
      submit="Save"
      close={{ label: 'Cancel', onClick: onCancel }}
    >
      <Field label="Name" error={save.errorOf('name')}>
        <TextInput name="name" required defaultValue={list?.name ?? ''} />
      </Field>
      <Field label="Description" error={save.errorOf('description')}>
        <TextArea name="description" rows={3} defaultValue={list?.description ?? ''} />
      </Field>
      <Checkbox
        name="visible"
        defaultChecked={list?.visible ?? true}
        label="Visible to contacts"
        hint="Contacts in it see it on their preference page, and can leave it there."
      />
    </ActionForm>
  );
}
