import type { SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { AttachField } from '../../ui/attach-field.tsx';
import { useAttachedFiles } from '../../ui/attached-files.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/details.tsx';
import { Field, TextArea } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { type Kept, KeptForm, useKept } from '../../ui/kept-form.tsx';
import { Notice } from '../../ui/notice.tsx';

/** Answers a conversation with text and files. It goes to the contact, or to the sender of the last mail. */
export function ReplyForm({ conversationId: id }: { conversationId: number }) {
  const kept = useKept(`answer.${id}`, { resets: true });
  return (
    <Card title="Reply">
      <Form key={kept.generation} conversationId={id} kept={kept} />
    </Card>
  );
}

function Form({ conversationId: id, kept }: { conversationId: number; kept: Kept }) {
  const attached = useAttachedFiles(kept);
  const action = useAction({
    work: (body: Schemas['Reply'], key) =>
      call(() =>
        api.POST('/v1/my/conversations/{id}/reply', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
          body,
        }),
      ),
    done: 'The reply is accepted for sending.',
    refresh: ['conversations'],
    fields: ['text', 'attachments', 'attachments.*'],
    kept,
    onDone: attached.release,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const text = formText(new FormData(event.currentTarget), 'text');
    const attachments = attached.take();
    if (attachments) action.run({ text, ...(attachments.length > 0 && { attachments }) });
  };
  return (
    <KeptForm kept={kept} onSubmit={submit}>
      <Field
        label="Your reply"
        hint="It goes to the contact or, without one, to the sender of the last mail, from the address of the inbox."
        error={action.errorOf('text')}
      >
        <TextArea name="text" required rows={5} />
      </Field>
      <AttachField attached={attached} errors={action.errors} />
      {action.fault !== null && <Notice tone="bad">{action.fault}</Notice>}
      <div className="actions">
        <Button type="submit" kind="primary" busy={action.busy}>
          Send the reply
        </Button>
      </div>
    </KeptForm>
  );
}
