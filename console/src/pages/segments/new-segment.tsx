import type { SubmitEvent } from 'react';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { useOpen } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';
import { useRequestKey } from '../../ui/request-key.ts';

/** Creates a segment by its name. Its filters are made in the editor, which opens. */
export function NewSegment({ open, onClose }: { open: boolean; onClose: () => void }) {
  const go = useOpen();
  const keyOf = useRequestKey();
  const create = useAction({
    work: (name: string) => {
      const body = { name, filters: [] };
      const header = { 'Idempotency-Key': keyOf(body) };
      return call(() => api.POST('/v1/my/segments', { params: { header }, body }));
    },
    refresh: ['segments'],
    fields: ['name'],
    onDone: ({ id }) => go(`/segments/${id}/edit`),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    create.run(formText(new FormData(event.currentTarget), 'name'));
  };
  return (
    <Dialog open={open} onClose={onClose} title="New segment">
      <form onSubmit={submit}>
        {create.fault !== null && <Notice tone="bad">{create.fault}</Notice>}
        <Field label="Name" error={create.errorOf('name')}>
          <TextInput name="name" required autoFocus autoComplete="off" />
        </Field>
        <div className="actions">
          <Button type="submit" kind="primary" busy={create.busy}>
            Create
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
