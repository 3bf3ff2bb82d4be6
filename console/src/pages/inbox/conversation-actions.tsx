import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { useBrand } from '../../shell/brand.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Select } from '../../ui/field.tsx';
import { useOpen } from '../../ui/links.tsx';
import { toast } from '../../ui/toasts.tsx';
import { useAssignees } from './choices.ts';

type Conversation = Schemas['Conversation'];
type Changes = Partial<Pick<Conversation, 'status' | 'assignee_id'>>;

/** Closes, opens, assigns or deletes a conversation, and marks it as unread. */
export function ConversationActions({ conversation }: { conversation: Conversation }) {
  const { id, status, assignee_id: assigneeId } = conversation;
  const open = useOpen();
  const { manages } = useBrand();
  const assignees = useAssignees();
  const change = useAction({
    work: (body: Changes) =>
      call(() => api.PATCH('/v1/my/conversations/{id}', { params: { path: { id } }, body })),
    refresh: ['conversations'],
    onDone(_, changes) {
      const before = 'status' in changes ? { status } : { assignee_id: assigneeId };
      toast(doneText(changes), { undo: () => undo.run(before) });
    },
  });
  const undo = useAction({
    work: (body: Changes) =>
      call(() => api.PATCH('/v1/my/conversations/{id}', { params: { path: { id } }, body })),
    refresh: ['conversations'],
  });
  const unread = useAction({
    work: () =>
      call(() => api.POST('/v1/my/conversations/{id}/unread', { params: { path: { id } }, body: {} })),
    done: 'The conversation is marked as unread.',
    refresh: ['conversations'],
    onDone: () => open('/inbox'),
  });
  return (
    <>
      <Select
        aria-label="Assigned to"
        value={assigneeId === null ? '' : String(assigneeId)}
        disabled={change.busy}
        options={[{ value: '', label: 'Not assigned' }, ...assignees]}
        onChange={({ target: { value } }) => change.run({ assignee_id: value === '' ? null : Number(value) })}
      />
      <Button busy={unread.busy} onClick={() => unread.run()}>
        Mark as unread
      </Button>
      <Button
        kind="primary"
        busy={change.busy}
        onClick={() => change.run({ status: status === 'open' ? 'closed' : 'open' })}
      >
        {status === 'open' ? 'Close' : 'Open again'}
      </Button>
      {manages && <DeleteConversation id={id} />}
    </>
  );
}

function DeleteConversation({ id }: { id: number }) {
  const open = useOpen();
  const remove = useAction({
    work: () => call(() => api.DELETE('/v1/my/conversations/{id}', { params: { path: { id } } })),
    done: 'The conversation is deleted.',
    refresh: [],
    onDone: () => open('/inbox'),
  });
  return (
    <ConfirmButton
      label="Delete"
      title="Delete this conversation?"
      confirm="Delete conversation"
      busy={remove.busy}
      onConfirm={() => remove.run()}
    >
      <p>All its messages and their files are deleted. This cannot be undone.</p>
    </ConfirmButton>
  );
}

function doneText({ status, assignee_id: assigneeId }: Changes): string {
  if (status === 'closed') return 'The conversation is closed. New mail opens it again.';
  if (status === 'open') return 'The conversation is open.';
  return assigneeId === null ? 'The conversation is no longer assigned.' : 'The conversation is assigned.';
}
