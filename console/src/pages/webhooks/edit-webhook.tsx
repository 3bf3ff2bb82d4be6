import type { SubmitEvent } from 'react';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { CloseButton } from '../../ui/action-form.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { formText } from '../../ui/form.ts';
import { KeptForm, useKept } from '../../ui/kept-form.tsx';
import { Notice } from '../../ui/notice.tsx';
import { accountEvents, type EventType, type Webhook } from './webhook-events.ts';
import { tickedEvents, WEBHOOK_FIELDS, WebhookFields } from './webhook-fields.tsx';

/** Changes the URL and the email events of a webhook. Its other events stay, also those that were just added. */
async function changeWebhook(id: number, url: string, ticked: EventType[]): Promise<Webhook> {
  const params = { path: { id } };
  const now = await call(() => api.GET('/v1/my/webhooks/{id}', { params }));
  const events = [...ticked, ...accountEvents(now)];
  return call(() => api.PATCH('/v1/my/webhooks/{id}', { params, body: { url, events } }));
}

export function EditWebhook({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const kept = useKept(`webhook.${webhook.id}`);
  const action = useAction({
    work: ({ url, ticked }: { url: string; ticked: EventType[] }) => changeWebhook(webhook.id, url, ticked),
    done: 'The webhook is changed.',
    refresh: ['webhooks'],
    fields: WEBHOOK_FIELDS,
    onDone: onClose,
    kept,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    action.run({ url: formText(form, 'url').trim(), ticked: tickedEvents(form) });
  };
  return (
    <Dialog open onClose={onClose} title="Edit the webhook">
      <KeptForm kept={kept} onSubmit={submit}>
        <WebhookFields webhook={webhook} errorOf={action.errorOf} />
        {action.fault !== null && <Notice tone="bad">{action.fault}</Notice>}
        <div className="actions">
          <Button type="submit" kind="primary" busy={action.busy}>
            Save
          </Button>
          <CloseButton kept={kept} onClick={onClose} />
        </div>
      </KeptForm>
    </Dialog>
  );
}
