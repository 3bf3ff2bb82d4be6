import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { useKept } from '../../ui/kept-form.tsx';
import { AddRemoveForm, type AddRemove } from '../../ui/add-remove-form.tsx';

/** Adds and removes pasted addresses, up to 10,000 at once. */
export function MembersDialog({ listId, onClose }: { listId: number; onClose: () => void }) {
  const kept = useKept(`list-members.${listId}`);
  const change = useAction({
    work: (body: AddRemove, key) =>
      call(() =>
        api.POST('/v1/my/lists/{id}/contacts/bulk', {
          params: { path: { id: listId }, header: { 'Idempotency-Key': key } },
          body,
        }),
      ),
    refresh: ['lists', 'contacts'],
    fields: ['add', 'remove'],
    kept,
  });
  return (
    <AddRemoveForm
      action={change}
      kept={kept}
      add={{
        label: 'Email addresses to add',
        hint: 'One per line. A new contact is created for each unknown address.',
      }}
      remove={{ label: 'Email addresses to remove' }}
      submit="Change the list"
      onClose={onClose}
    />
  );
}
