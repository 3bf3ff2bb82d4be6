import { addressLines } from './address-lines.ts';
import type { Action } from './action.ts';
import { ActionForm } from './action-form.tsx';
import { Field, TextArea } from './field.tsx';
import { formText } from './form.ts';
import type { Kept } from './kept-form.tsx';
import { ItemResults, type ItemResult } from './item-results.tsx';

export interface AddRemove {
  add: string[];
  remove: string[];
}

interface Words {
  label: string;
  hint?: string;
}

/** Adds and removes pasted addresses, and reports the result of each. */
export function AddRemoveForm({
  action,
  kept,
  add,
  remove,
  submit,
  onClose,
}: {
  action: Action<AddRemove, { results: readonly ItemResult[] }>;
  kept: Kept;
  add: Words;
  remove: Words;
  submit: string;
  onClose: () => void;
}) {
  const send = (form: FormData) =>
    action.run({
      add: addressLines(formText(form, 'add')),
      remove: addressLines(formText(form, 'remove')),
    });
  return (
    <ActionForm
      action={action}
      kept={kept}
      onSubmit={send}
      submit={submit}
      close={{ label: 'Done', onClick: onClose }}
    >
      {action.result && <ItemResults results={action.result.results} />}
      <Field {...add} error={action.errorOf('add')}>
        <TextArea name="add" rows={6} spellCheck={false} />
      </Field>
      <Field {...remove} error={action.errorOf('remove')}>
        <TextArea name="remove" rows={3} spellCheck={false} />
      </Field>
    </ActionForm>
  );
}
