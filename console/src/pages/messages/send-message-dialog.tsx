import { useState, type SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { useAction } from '../../ui/action.ts';
import { CloseButton } from '../../ui/action-form.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, curlOf } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextArea, TextInput } from '../../ui/field.tsx';
import { isObject, parseJson } from '../../ui/json-text.ts';
import { type Kept, KeptForm, useKept } from '../../ui/kept-form.tsx';
import { useOpen } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';

type Body = Schemas['EmailMessage'] | Schemas['SmsMessage'];
type Channel = Body['channel'];

interface Draft {
  channel: Channel;
  to: string;
  subject: string;
  text: string;
}

const FIELDS = ['to', 'subject', 'body'];

const bodyOf = ({ channel, to, subject, text }: Draft): Body =>
  channel === 'sms' ? { channel, to, body: text } : { channel, to, subject, body: text };

/** A form that sends one message, filled with a message to the user. Opens the message afterwards. */
export function SendMessageDialog({ onClose }: { onClose: () => void }) {
  const kept = useKept('new-message');
  return (
    <Dialog open onClose={onClose} title="Send a message">
      <Form key={kept.generation} kept={kept} onClose={onClose} />
    </Dialog>
  );
}

/** The values that an earlier visit has left. */
function leftDraft(kept: Kept, given: Draft): Draft {
  const parsed = parseJson(kept.first('draft') ?? '');
  if (!('value' in parsed) || !isObject(parsed.value)) return given;
  const { channel, to, subject, text } = parsed.value;
  const isText = [to, subject, text].every((each) => typeof each === 'string');
  return isText && (channel === 'email' || channel === 'sms') ? (parsed.value as unknown as Draft) : given;
}

function Form({ kept, onClose }: { kept: Kept; onClose: () => void }) {
  const { user } = useBrand().signedIn;
  const open = useOpen();
  const given: Draft = {
    channel: 'email',
    to: user.email,
    subject: 'Hello from Carillon',
    text: 'This is a first message.',
  };
  const [draft, setDraft] = useState(() => leftDraft(kept, given));
  const body = bodyOf(draft);
  const send = useAction({
    work: (wanted: Body, key) =>
      call(() =>
        api.POST('/v1/my/messages', {
          body: wanted,
          params: { header: { 'Idempotency-Key': key } },
        }),
      ),
    done: 'The message is accepted for sending.',
    fields: FIELDS,
    kept,
    onDone({ id }) {
      onClose();
      open(`/messages/${id}`);
    },
  });
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    send.run(body);
  };
  return (
    <>
      <KeptForm kept={kept} onSubmit={submit}>
        <input
          type="hidden"
          name="draft"
          value={JSON.stringify(draft)}
          data-base={JSON.stringify(given)}
          readOnly
        />
        {send.fault !== null && <Notice tone="bad">{send.fault}</Notice>}
        <Field label="Channel">
          <Select
            value={draft.channel}
            options={[
              { value: 'email', label: 'Email' },
              { value: 'sms', label: 'SMS' },
            ]}
            onChange={({ target }) =>
              change(
                target.value === 'sms'
                  ? { channel: 'sms', to: user.mobile }
                  : { channel: 'email', to: user.email },
              )
            }
          />
        </Field>
        <Field label="To" error={send.errorOf('to')}>
          <TextInput value={draft.to} required onChange={({ target }) => change({ to: target.value })} />
        </Field>
        {draft.channel === 'email' && (
          <Field label="Subject" error={send.errorOf('subject')}>
            <TextInput value={draft.subject} onChange={({ target }) => change({ subject: target.value })} />
          </Field>
        )}
        <Field label="Text" error={send.errorOf('body')}>
          <TextArea value={draft.text} onChange={({ target }) => change({ text: target.value })} />
        </Field>
        <div className="actions">
          <Button type="submit" kind="primary" busy={send.busy}>
            Send
          </Button>
          <CloseButton kept={kept} onClick={onClose} />
        </div>
      </KeptForm>
      <CodeBlock text={curlOf('POST', '/v1/my/messages', body)} label="The same by the API" />
    </>
  );
}
