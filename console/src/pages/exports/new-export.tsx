import { useState, type SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { useOpen } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';

const RESOURCES: readonly { value: Schemas['Export']['resource']; label: string }[] = [
  { value: 'contacts', label: 'All contacts' },
  { value: 'suppressions', label: 'All active suppressions' },
  { value: 'messages', label: 'All messages' },
];

export function NewExport() {
  const [creating, setCreating] = useState(false);
  return (
    <>
      <Button kind="primary" onClick={() => setCreating(true)}>
        New export
      </Button>
      <Dialog open={creating} onClose={() => setCreating(false)} title="New export">
        <ExportForm onCancel={() => setCreating(false)} />
      </Dialog>
    </>
  );
}

function ExportForm({ onCancel }: { onCancel: () => void }) {
  const open = useOpen();
  const create = useAction({
    work: (resource: Schemas['Export']['resource'], key) =>
      call(() =>
        api.POST('/v1/my/exports', { params: { header: { 'Idempotency-Key': key } }, body: { resource } }),
      ),
    refresh: ['exports'],
    fields: ['resource'],
    onDone: ({ id }) => open(`/exports/${id}`),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const chosen = formText(new FormData(event.currentTarget), 'resource');
    const resource = RESOURCES.find(({ value }) => value === chosen)?.value;
    if (resource) create.run(resource);
  };
  return (
    <form onSubmit={submit}>
      {create.fault !== null && <Notice tone="bad">{create.fault}</Notice>}
      <Field
        label="Rows"
        hint="To export only some, filter their list and press Export there."
        error={create.errorOf('resource')}
      >
        <Select name="resource" options={RESOURCES} />
      </Field>
      <div className="actions">
        <Button type="submit" kind="primary" busy={create.busy}>
          Export
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}
