import type { SubmitEvent } from 'react';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { addressLines } from '../../ui/address-lines.ts';
import { Button } from '../../ui/button.tsx';
import { Field, TextArea } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { ItemResults } from '../../ui/item-results.tsx';
import { Notice } from '../../ui/notice.tsx';

/** Adds and ends suppressions of pasted addresses. */
export function BulkSuppressions({ onClose }: { onClose: () => void }) {
  const change = useAction({
    work: (body: { add: string[]; remove: string[] }) =>
      call(() => api.POST('/v1/my/suppressions/bulk', { body })),
    refresh: ['suppressions', 'contacts'],
    fields: ['add', 'remove'],
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
        label="Suppress"
        hint="Email addresses and phone numbers, one a line."
        error={change.errorOf('add')}
      >
        <TextArea name="add" rows={6} spellCheck={false} />
      </Field>
      <Field
        label="End the suppression of"
        hint="Only an owner or admin may end complaints and hard bounces."
        error={change.errorOf('remove')}
      >
        <TextArea name="remove" rows={3} spellCheck={false} />
      </Field>
      <div className="actions">
        <Button type="submit" kind="primary" busy={change.busy}>
          Change the suppressions
        </Button>
        <Button onClick={onClose}>Done</Button>
      </div>
    </form>
  );
}
