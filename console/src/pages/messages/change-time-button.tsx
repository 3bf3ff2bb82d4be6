import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { isPast, localText, PAST_TEXT, timeOf } from '../../ui/local-time.ts';

type Message = Schemas['MessageDetail'];

/** Moves a scheduled message to another time, or sends it now. */
export function ChangeTimeButton({ message }: { message: Message }) {
  const [changes, setChanges] = useState(false);
  return (
    <>
      <Button onClick={() => setChanges(true)}>Change the time</Button>
      {changes && <ChangeTimeDialog message={message} onClose={() => setChanges(false)} />}
    </>
  );
}

function ChangeTimeDialog({
  message: { id, scheduled_at: scheduledAt, recipients = [] },
  onClose,
}: {
  message: Message;
  onClose: () => void;
}) {
  const [when, setWhen] = useState('later');
  const [isLate, setLate] = useState(false);
  const move = useAction({
    work: (at: string) =>
      call(() => api.PATCH('/v1/my/messages/{id}', { params: { path: { id } }, body: { scheduled_at: at } })),
    done: ({ status }) => (status === 'scheduled' ? 'The time is changed.' : 'The message is being sent.'),
    fields: ['scheduled_at'],
    onDone: onClose,
  });
  const submit = (form: FormData) => {
    // The API sends a message at once whose time has come.
    if (when === 'now') return move.run(new Date().toISOString());
    const at = timeOf(formText(form, 'scheduled_at'));
    setLate(isPast(at));
    if (at !== null && !isPast(at)) move.run(at);
  };
  return (
    <Dialog open onClose={onClose} title="When to send this message">
      <ActionForm
        action={move}
        kept={null}
        onSubmit={submit}
        submit={when === 'now' ? 'Send now' : 'Change the time'}
        close={{ label: 'Close', onClick: onClose }}
      >
        <Field label="When" error={when === 'now' ? move.errorOf('scheduled_at') : null}>
          <Select
            value={when}
            onChange={({ target }) => setWhen(target.value)}
            options={[
              { value: 'later', label: 'At a time' },
              { value: 'now', label: 'Now' },
            ]}
          />
        </Field>
        {when === 'later' && (
          <Field
            label="Time"
            hint="In your own time zone."
            error={isLate ? PAST_TEXT : move.errorOf('scheduled_at')}
          >
            <TextInput
              name="scheduled_at"
              type="datetime-local"
              defaultValue={localText(scheduledAt)}
              required
            />
          </Field>
        )}
        {recipients.length > 1 && <p>All recipients get it at this time.</p>}
      </ActionForm>
    </Dialog>
  );
}
