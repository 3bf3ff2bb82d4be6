import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { useKept } from '../../ui/kept-form.tsx';
import { AddRemoveForm, type AddRemove } from '../../ui/add-remove-form.tsx';

/** Adds and ends suppressions of pasted addresses. */
export function BulkSuppressions({ onClose }: { onClose: () => void }) {
  const kept = useKept('suppressions');
  const change = useAction({
    work: (body: AddRemove) => call(() => api.POST('/v1/my/suppressions/bulk', { body })),
    refresh: ['suppressions', 'contacts'],
    fields: ['add', 'remove'],
    kept,
  });
  return (
    <AddRemoveForm
      action={change}
      kept={kept}
      add={{ label: 'Suppress', hint: 'Email addresses and phone numbers, one per line.' }}
      remove={{
        label: 'End the suppression of',
        hint: 'Only an owner or admin may end complaints and hard bounces.',
      }}
      submit="Change the suppressions"
      onClose={onClose}
    />
  );
}
