import type { SubmitEvent } from 'react';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/details.tsx';
import { Field, TextArea } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { KeptForm, useKept } from '../../ui/kept-form.tsx';
import { Notice } from '../../ui/notice.tsx';

/** Answers a conversation with text. It goes to the contact, or to the sender of the last mail. */
export function ReplyForm({ conversationId: id }: { conversationId: number }) {
  const kept = useKept(`answer.${id}`, { resets: true });
  const action = useAction({
    work: (answer: string, key) =>
      call(() =>
        api.POST('/v1/my/conversations/{id}/reply', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
          body: { text: answer },
        }),
      ),
    done: 'The reply is accepted for sending.',
    refresh: ['conversations'],
    fields: ['text'],
    kept,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    action.run(formText(new FormData(event.currentTarget), 'text'));
  };
  return (
    <Card title="Reply">
      <KeptForm kept={kept} onSubmit={submit}>
        <Field
          label="Your reply"
          hint="It goes to the contact or, without one, to the sender of the last mail, from the address of the inbox."
          error={action.errorOf('text')}
        >
          <TextArea name="text" required rows={5} />
        </Field>
        {action.fault !== null && <Notice tone="bad">{action.fault}</Notice>}
        <div className="actions">
          <Button type="submit" kind="primary" busy={action.busy}>
            Send the reply
          </Button>
        </div>
      </KeptForm>
    </Card>
  );
}
