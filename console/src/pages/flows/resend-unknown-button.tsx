import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { countText } from '../../ui/details.tsx';

/** @param props.count how many messages are unknown, or about that */
export function ResendUnknownButton({ flow: { id }, count }: { flow: Schemas['Flow']; count: number }) {
  const { run, busy } = useAction({
    work: (_, key) =>
      call(() =>
        api.POST('/v1/my/flows/{id}/resend_unknown', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
        }),
      ),
    done: ({ requeued_count: requeued }) =>
      requeued === 0
        ? 'None of them can be sent again now.'
        : `${countText(requeued)} ${requeued === 1 ? 'message is' : 'messages are'} sent again.`,
    refresh: ['flows', 'flow_runs'],
  });
  return (
    <ConfirmButton
      label="Resend unknown"
      title={`Send ${countText(count)} ${count === 1 ? 'message' : 'messages'} again?`}
      kind="secondary"
      confirm="Send again"
      busy={busy}
      onConfirm={run}
    >
      <p>
        It is unknown whether the provider has them, so some contacts may get theirs twice. Contacts who have
        unsubscribed since get nothing.
      </p>
    </ConfirmButton>
  );
}
