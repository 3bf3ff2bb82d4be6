import { api, call } from '../../api/client.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { useAction } from '../../ui/action.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { useOpen } from '../../ui/links.tsx';

/** Creates a flow by its name. Its trigger and steps are made in the editor, which opens. */
export function NewFlow({ onClose }: { onClose: () => void }) {
  const open = useOpen();
  const create = useAction({
    work: (name: string, key) =>
      call(() =>
        api.POST('/v1/my/flows', {
          params: { header: { 'Idempotency-Key': key } },
          body: { name, status: 'draft' },
        }),
      ),
    refresh: ['flows'],
    fields: ['name'],
    onDone: ({ id }) => open(`/flows/${id}/edit`),
  });
  return (
    <Dialog open onClose={onClose} title="New flow">
      <ActionForm
        action={create}
        onSubmit={(form) => create.run(formText(form, 'name'))}
        submit="Create"
        close={{ label: 'Cancel', onClick: onClose }}
      >
        <Field label="Name" error={create.errorOf('name')}>
          <TextInput name="name" required maxLength={255} autoFocus autoComplete="off" />
        </Field>
      </ActionForm>
    </Dialog>
  );
}
