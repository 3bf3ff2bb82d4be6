import { api, call, type Schemas } from '../../api/client.ts';
import { isWaiting } from '../../api/message-statuses.ts';
import { useAction } from '../../ui/action.ts';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { useOpen } from '../../ui/links.tsx';

type Message = Schemas['MessageDetail'];

/** Messages of campaigns and flows, test messages, and those without recipient or content cannot be sent again. */
const canResend = ({ campaign_id, flow_id, test, to, html, text }: Message) =>
  campaign_id === null && flow_id === null && !test && to !== null && (html !== null || text !== null);

/** Sends the same message once more, as a new message, and opens that. */
export function ResendButton({ message }: { message: Message }) {
  const open = useOpen();
  const { id, to, attachments = [], recipients = [] } = message;
  const files = attachments.length === 0 ? '' : ' and the same files';
  const resend = useAction({
    work: (_, key) =>
      call(() =>
        api.POST('/v1/my/messages/{id}/resend', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
        }),
      ),
    done: 'The message is accepted for sending again.',
    onDone: (sent) => open(`/messages/${sent.id}`),
  });
  if (!canResend(message)) return null;
  const waits = isWaiting(message.status);
  return (
    <ConfirmButton
      label="Resend"
      title="Send this message again?"
      kind={waits ? 'secondary' : 'primary'}
      busy={resend.busy}
      onConfirm={() => resend.run()}
    >
      <p>
        A new message with the same content{files} goes to {to}. It is checked and counted like any other
        message.
      </p>
      {recipients.length > 1 && <p>The other recipients get nothing.</p>}
      {waits && <p>This message still waits and leaves by itself: {to} would get both.</p>}
    </ConfirmButton>
  );
}
