import { useState } from 'react';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { formText } from '../../ui/form.ts';
import { useKept } from '../../ui/kept-form.tsx';
import { useOpen } from '../../ui/links.tsx';
import type { EventType, Webhook } from './webhook-events.ts';
import { tickedEvents, WEBHOOK_FIELDS, WebhookFields } from './webhook-fields.tsx';

/** Creates a webhook, then shows its secret and how to use it. */
export function CreateWebhook({ onClose }: { onClose: () => void }) {
  const [created, setCreated] = useState<Webhook | null>(null);
  return (
    <Dialog open onClose={onClose} title={created ? 'The webhook is ready' : 'Create a webhook'}>
      {created ? <Ready webhook={created} /> : <Form onCreated={setCreated} onClose={onClose} />}
    </Dialog>
  );
}

function Form({ onCreated, onClose }: { onCreated: (webhook: Webhook) => void; onClose: () => void }) {
  const kept = useKept('new-webhook');
  const action = useAction({
    work: (body: { url: string; events: EventType[] }, key) =>
      call(() => api.POST('/v1/my/webhooks', { params: { header: { 'Idempotency-Key': key } }, body })),
    refresh: ['webhooks'],
    fields: WEBHOOK_FIELDS,
    onDone: onCreated,
    kept,
  });
  const submit = (form: FormData) => {
    action.run({ url: formText(form, 'url').trim(), events: tickedEvents(form) });
  };
  return (
    <ActionForm
      action={action}
      kept={kept}
      onSubmit={submit}
      submit="Create webhook"
      close={{ label: 'Cancel', onClick: onClose }}
    >
      <WebhookFields errorOf={action.errorOf} />
    </ActionForm>
  );
}

const VERIFY = `import { Webhook } from 'standardwebhooks';

const event = new Webhook(process.env.WEBHOOK_SECRET).verify(rawBody, request.headers);`;

function Ready({ webhook: { id, secret } }: { webhook: Webhook }) {
  const open = useOpen();
  return (
    <>
      <p>Your server verifies each request with this secret, over the raw bytes of the body.</p>
      <CodeBlock text={secret} label="Signing secret" />
      <CodeBlock text={VERIFY} label="With a library of Standard Webhooks" />
      <div className="actions">
        <Button kind="primary" onClick={() => open(`/webhooks/${id}`)}>
          Open the webhook
        </Button>
      </div>
    </>
  );
}
