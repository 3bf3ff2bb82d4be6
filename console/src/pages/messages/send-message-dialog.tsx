import { useState, type SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { useAction } from '../../ui/action.ts';
import { CloseButton } from '../../ui/action-form.tsx';
import { AttachField } from '../../ui/attach-field.tsx';
import { useAttachedFiles } from '../../ui/attached-files.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, curlOf } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { type Kept, KeptForm, useKept } from '../../ui/kept-form.tsx';
import { useOpen } from '../../ui/links.tsx';
import { isPast, PAST_TEXT } from '../../ui/local-time.ts';
import { Notice } from '../../ui/notice.tsx';
import { type Body, bodyOf, type Draft, leftDraft, MessageFields, SendAtField } from './message-fields.tsx';
import { SendWarnings } from './send-warnings.tsx';

type Accepted = Schemas['AcceptedMessage'];

const FIELDS = [
  'to',
  'to.*',
  'cc',
  'cc.*',
  'bcc',
  'bcc.*',
  'subject',
  'body',
  'attachments',
  'attachments.*',
  'scheduled_at',
];

/** A form that sends one message, filled with a message to the user. Opens the message afterwards. */
export function SendMessageDialog({ onClose }: { onClose: () => void }) {
  const kept = useKept('new-message');
  const open = useOpen();
  const [noticed, setNoticed] = useState<Accepted | null>(null);
  const show = ({ id }: Accepted) => {
    onClose();
    open(`/messages/${id}`);
  };
  return (
    <Dialog open onClose={onClose} title={noticed ? 'The message is accepted' : 'Send a message'}>
      {noticed ? (
        <SendWarnings message={noticed} onOpen={() => show(noticed)} onClose={onClose} />
      ) : (
        <Form
          key={kept.generation}
          kept={kept}
          onClose={onClose}
          onSent={(message) => (message.warnings ? setNoticed(message) : show(message))}
        />
      )}
    </Dialog>
  );
}

function Form({
  kept,
  onClose,
  onSent,
}: {
  kept: Kept;
  onClose: () => void;
  onSent: (message: Accepted) => void;
}) {
  const { user } = useBrand().signedIn;
  const given: Draft = {
    channel: 'email',
    to: user.email,
    cc: '',
    bcc: '',
    subject: 'Hello from Carillon',
    text: 'This is a first message.',
    sendAt: '',
  };
  const [draft, setDraft] = useState(() => leftDraft(kept.first('draft'), given));
  const [isLate, setLate] = useState(false);
  const attached = useAttachedFiles(kept);
  const send = useAction({
    work: (wanted: Body, key) =>
      call(() =>
        api.POST('/v1/my/messages', {
          body: wanted,
          params: { header: { 'Idempotency-Key': key } },
        }),
      ),
    done: ({ status }) =>
      status === 'scheduled' ? 'The message is scheduled.' : 'The message is accepted for sending.',
    fields: FIELDS,
    kept,
    onDone(message) {
      attached.release();
      onSent(message);
    },
  });
  const change = (changes: Partial<Draft>) => setDraft({ ...draft, ...changes });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const isPastTime = isPast(draft.sendAt || null);
    setLate(isPastTime);
    if (isPastTime) return;
    const attachments = draft.channel === 'sms' ? [] : attached.take();
    if (attachments) send.run(bodyOf(draft, attachments));
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
        <MessageFields draft={draft} errors={send.errors} onChange={change} />
        {draft.channel === 'email' && <AttachField attached={attached} errors={send.errors} />}
        <SendAtField draft={draft} error={isLate ? PAST_TEXT : send.errors.scheduled_at} onChange={change} />
        <div className="actions">
          <Button type="submit" kind="primary" busy={send.busy}>
            {draft.sendAt === '' ? 'Send' : 'Schedule'}
          </Button>
          <CloseButton kept={kept} onClick={onClose} />
        </div>
      </KeptForm>
      <CodeBlock
        text={curlOf('POST', '/v1/my/messages', bodyOf(draft, attached.attachments))}
        label="The same by the API"
      />
    </>
  );
}
