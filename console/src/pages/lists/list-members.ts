import { useQueryClient } from '@tanstack/react-query';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { toast } from '../../ui/toasts.tsx';

export interface MemberChange {
  listId: number;
  contactId: number;
  kind: 'add' | 'remove';
}

const send = ({ listId, contactId, kind }: MemberChange) =>
  call(() =>
    api.POST('/v1/my/lists/{id}/contacts/bulk', {
      params: { path: { id: listId } },
      body: { [kind]: [contactId] },
    }),
  );

const opposite = (change: MemberChange): MemberChange => ({
  ...change,
  kind: change.kind === 'add' ? 'remove' : 'add',
});

/** Adds a contact to a list or removes it; both can be undone. */
export function useMemberChange() {
  const queryClient = useQueryClient();
  return useAction({
    work: send,
    refresh: ['contacts', 'lists'],
    onDone(_, change: MemberChange) {
      const undo = async () => {
        await send(opposite(change));
        await queryClient.invalidateQueries();
      };
      toast(change.kind === 'add' ? 'Added to the list.' : 'Removed from the list.', {
        undo: () => void undo(),
      });
    },
  });
}
