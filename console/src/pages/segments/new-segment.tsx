import { api, call } from '../../api/client.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { useAction } from '../../ui/action.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { useOpen } from '../../ui/links.tsx';

/** Creates a segment by its name. Its filters are made in the editor, which opens. */
export function NewSegment({ open, onClose }: { open: boolean; onClose: () => void }) {
  const go = useOpen();
  const create = useAction({
    work: (name: string, key) =>
      call(() =>
        api.POST('/v1/my/segments', {
          params: { header: { 'Idempotency-Key': key } },
          body: { name, filters: [] },
        }),
      ),
    refresh: ['segments'],
    fields: ['name'],
    onDone: ({ id }) => go(`/segments/${id}/edit`),
  });
  return (
    <Dialog open={open} onClose={onClose} title="New segment">
      <ActionForm
        action={create}
        onSubmit={(form) => create.run(formText(form, 'name'))}
        submit="Create"
        close={{ label: 'Cancel', onClick: onClose }}
      >
        <Field label="Name" error={create.errorOf('name')}>
          <TextInput name="name" required autoFocus autoComplete="off" />
        </Field>
      </ActionForm>
    </Dialog>
  );
}
