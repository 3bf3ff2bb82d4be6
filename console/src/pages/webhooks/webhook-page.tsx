import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Card, DetailList, StatusBadge, Time } from '../../ui/details.tsx';
import { useId, useOpen } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { WorkflowLink } from '../../ui/temporal-link.tsx';
import { DeliveryList } from './delivery-list.tsx';
import { EditWebhook } from './edit-webhook.tsx';
import { SendTest } from './send-test.tsx';
import type { Webhook } from './webhook-events.ts';
import { WebhookSecret } from './webhook-secret.tsx';
import { WebhookState, WebhookTrouble } from './webhook-state.tsx';

const POLL_STATE_MS = 10_000;

/** One webhook: whether it works, and what happened to each event. */
export function WebhookPage() {
  const id = useId('webhookId');
  const query = useQuery({
    queryKey: ['webhooks', id],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/webhooks/{id}', { params: { path: { id } }, signal })),
    refetchInterval: POLL_STATE_MS,
  });
  return (
    <QueryView query={query}>
      {(webhook) => (
        <>
          <PageHeader title={webhook.url} actions={<Actions webhook={webhook} />}>
            <WebhookState webhook={webhook} />
          </PageHeader>
          <WebhookTrouble webhook={webhook} />
          <div className="grid">
            <Card title="About">
              <DetailList
                items={[
                  ['Events', <EventBadges key="events" webhook={webhook} />],
                  ['Created', <Time key="created" at={webhook.created_at} full />],
                ]}
              />
            </Card>
            <WebhookSecret webhook={webhook} />
          </div>
          <DeliveryList webhook={webhook} />
        </>
      )}
    </QueryView>
  );
}

const EventBadges = ({ webhook: { events } }: { webhook: Webhook }) => (
  <span className="actions">
    {events.map((type) => (
      <StatusBadge key={type} status={type} />
    ))}
  </span>
);

function Actions({ webhook }: { webhook: Webhook }) {
  const open = useOpen();
  const [dialog, setDialog] = useState<'test' | 'edit' | null>(null);
  const path = { id: webhook.id };
  const turn = useAction({
    work: (enabled: boolean) =>
      call(() => api.PATCH('/v1/my/webhooks/{id}', { params: { path }, body: { enabled } })),
    done: ({ enabled }) => (enabled ? 'The webhook is on.' : 'The webhook is off.'),
    refresh: ['webhooks', 'deliveries'],
  });
  const remove = useAction({
    work: () => call(() => api.DELETE('/v1/my/webhooks/{id}', { params: { path } })),
    done: 'The webhook is deleted.',
    refresh: [],
    onDone: () => open('/webhooks'),
  });
  return (
    <>
      <Button kind="primary" disabled={!webhook.enabled} onClick={() => setDialog('test')}>
        Send a test
      </Button>
      <Button onClick={() => setDialog('edit')}>Edit</Button>
      {webhook.enabled ? (
        <ConfirmButton
          label="Turn off"
          title="Turn the webhook off?"
          kind="secondary"
          busy={turn.busy}
          onConfirm={() => turn.run(false)}
        >
          <p>It never receives events that occur while it is off, and waiting retries end as failed.</p>
        </ConfirmButton>
      ) : (
        <Button busy={turn.busy} onClick={() => turn.run(true)}>
          Turn on
        </Button>
      )}
      <WorkflowLink id={`webhook/${webhook.id}`} />
      <ConfirmButton
        label="Delete"
        title="Delete the webhook?"
        confirm="Delete webhook"
        busy={remove.busy}
        onConfirm={() => remove.run()}
      >
        <p>The history of its deliveries is deleted as well. Its URL receives nothing more.</p>
      </ConfirmButton>
      {dialog === 'test' && <SendTest webhook={webhook} onClose={() => setDialog(null)} />}
      {dialog === 'edit' && <EditWebhook webhook={webhook} onClose={() => setDialog(null)} />}
    </>
  );
}
