import { useState, type SubmitEvent } from 'react';
import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { useOpen } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';
import { eventOf, typesOf, type EventType, type Webhook } from './webhook-events.ts';

/** Sends a sample of an event, and opens its delivery. */
export function SendTest({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const open = useOpen();
  const types = typesOf(webhook);
  const [type, setType] = useState<EventType>(webhook.events[0] ?? 'email.delivered');
  const { id } = webhook;
  const action = useAction({
    work: (wanted: EventType, key) =>
      call(() =>
        api.POST('/v1/my/webhooks/{id}/test', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
          body: { type: wanted },
        }),
      ),
    refresh: ['deliveries'],
    fields: [],
    onDone: (delivery) => open(`/webhooks/${id}/deliveries/${delivery.id}`),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    action.run(type);
  };
  return (
    <Dialog open onClose={onClose} title="Send a test">
      <form onSubmit={submit}>
        <p>
          A realistic sample with <code>test: true</code> is signed, sent and retried like any other event.
        </p>
        <Field label="Event" hint="It may also be one that the webhook is not subscribed to.">
          <Select
            value={type}
            options={types}
            onChange={(event) => setType(eventOf(types, event.target.value) ?? type)}
          />
        </Field>
        {action.fault !== null && <Notice tone="bad">{action.fault}</Notice>}
        <div className="actions">
          <Button type="submit" kind="primary" busy={action.busy}>
            Send the test
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
