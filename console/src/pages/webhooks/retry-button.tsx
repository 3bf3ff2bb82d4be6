import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button, type ButtonProps } from '../../ui/button.tsx';
import type { Delivery } from './deliveries.ts';

const LABELS: Record<Delivery['status'], string | null> = {
  // The first attempt follows anyway.
  pending: null,
  retrying: 'Try now',
  delivered: 'Send again',
  failed: 'Retry',
};

/** Attempts a delivery now. */
export function RetryButton({
  delivery,
  enabled,
  kind = 'quiet',
}: {
  delivery: Delivery;
  enabled: boolean;
  kind?: ButtonProps['kind'];
}) {
  const { id, webhook_id: webhookId, status } = delivery;
  const action = useAction({
    work: (_, key) =>
      call(() =>
        api.POST('/v1/my/webhooks/{id}/deliveries/{delivery_id}/retry', {
          params: {
            path: { id: webhookId, delivery_id: id },
            header: { 'Idempotency-Key': key },
          },
          body: {},
        }),
      ),
    done: 'The delivery is due now.',
    refresh: ['deliveries'],
  });
  const label = LABELS[status];
  if (label === null) return null;
  return (
    <Button
      kind={kind}
      busy={action.busy}
      disabled={!enabled}
      onClick={(event) => {
        event.stopPropagation();
        action.run();
      }}
    >
      {label}
    </Button>
  );
}
