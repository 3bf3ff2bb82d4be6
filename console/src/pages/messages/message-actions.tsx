import { useState } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { type CancelChoice, cancelChoices } from './cancel-choices.ts';
import { ChangeTimeButton } from './change-time-button.tsx';
import { ResendButton } from './resend-button.tsx';

type Message = Schemas['MessageDetail'];

/** What can still be done: another time, cancel, or send once more. */
export function MessageActions({ message }: { message: Message }) {
  const choices = cancelChoices(message);
  return (
    <>
      {message.status === 'scheduled' && <ChangeTimeButton message={message} />}
      {choices.length > 0 && <CancelButton message={message} choices={choices} />}
      <ResendButton message={message} />
    </>
  );
}

/** Takes back what waits: the message, all copies of a letter, or only the copy that is shown. */
function CancelButton({ message, choices }: { message: Message; choices: readonly CancelChoice[] }) {
  const { id, to } = message;
  const [chosen, setChosen] = useState<string>('all');
  const isOnly = chosen === 'only' ? choices.includes('only') : !choices.includes('all');
  const cancel = useAction({
    work: (only: boolean, key) =>
      call(() =>
        api.POST('/v1/my/messages/{id}/cancel', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
          body: only ? { only } : {},
        }),
      ),
    done: 'The message is canceled.',
  });
  const recipient = to ?? 'this recipient';
  return (
    <ConfirmButton
      label="Cancel"
      title="Cancel this message?"
      confirm="Cancel it"
      keep="Keep it"
      busy={cancel.busy}
      onConfirm={() => cancel.run(isOnly)}
    >
      {choices.length > 1 && (
        <Field label="Who gets nothing">
          <Select
            value={chosen}
            onChange={({ target }) => setChosen(target.value)}
            options={[
              { value: 'all', label: 'Everyone who waits for it' },
              { value: 'only', label: `Only ${recipient}` },
            ]}
          />
        </Field>
      )}
      {choices.length === 1 && isOnly && <p>Other copies have left. Only {recipient} gets nothing.</p>}
      <p>What is canceled is not sent and costs nothing. This cannot be undone.</p>
    </ConfirmButton>
  );
}
