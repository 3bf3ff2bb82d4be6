import { useState, type SubmitEvent } from 'react';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/facts.tsx';
import { Field, TextArea } from '../../ui/field.tsx';
import { Notice } from '../../ui/notice.tsx';

/** Answers a conversation with text. It goes to the contact, or to the sender of the last mail. */
export function ReplyForm({ conversationId: id }: { conversationId: number }) {
  const [text, setText] = useState('');
  const action = useAction({
    work: (answer: string, key) =>
      call(() =>
        api.POST('/v1/my/conversations/{id}/reply', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
          body: { text: answer },
        }),
      ),
    done: 'The answer is accepted for sending.',
    refresh: ['conversations'],
    fields: ['text'],
    onDone: () => setText(''),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    action.run(text);
  };
  return (
    <Card title="Answer">
      <form onSubmit={submit}>
        <Field
          label="Your answer"
          hint="It goes to the contact or, without one, to the sender of the last mail, from the address of the inbox."
          error={action.errorOf('text')}
        >
          <TextArea value={text} required rows={5} onChange={(event) => setText(event.target.value)} />
        </Field>
        {action.fault !== null && <Notice tone="bad">{action.fault}</Notice>}
        <div className="actions">
          <Button type="submit" kind="primary" busy={action.busy}>
            Send the answer
          </Button>
        </div>
      </form>
    </Card>
  );
}
