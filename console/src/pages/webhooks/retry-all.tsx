import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { countText } from '../../ui/details.tsx';
import { Field, Select, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { localText } from '../../ui/local-time.ts';
import { eventOf, typesOf, type EventType, type Webhook } from './webhook-events.ts';

const DAY_MS = 86_400_000;

interface Which {
  since: string;
  type?: EventType;
}

/** Makes every failed delivery since a time due at once, as after an outage. */
export function RetryAll({ webhook, onClose }: { webhook: Webhook; onClose: () => void }) {
  const types = typesOf(webhook);
  const { id } = webhook;
  const action = useAction({
    work: (body: Which, key) =>
      call(() =>
        api.POST('/v1/my/webhooks/{id}/retry_deliveries', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
          body,
        }),
      ),
    done: ({ retried_count: count, complete }) =>
      `${count === 1 ? '1 delivery is' : `${countText(count)} deliveries are`} due now.${complete ? '' : ' There are more: retry again.'}`,
    refresh: ['deliveries'],
    fields: ['since', 'type'],
    onDone: onClose,
  });
  const submit = (form: FormData) => {
    const type = eventOf(types, formText(form, 'type'));
    action.run({ since: new Date(formText(form, 'since')).toISOString(), ...(type ? { type } : {}) });
  };
  return (
    <Dialog open onClose={onClose} title="Retry all failed deliveries">
      <ActionForm
        action={action}
        kept={null}
        onSubmit={submit}
        submit="Retry all"
        close={{ label: 'Cancel', onClick: onClose }}
      >
        <p>Each failed delivery created since this time gets one more attempt now, the oldest first.</p>
        <Field label="Failed since" hint="In your own time zone." error={action.errorOf('since')}>
          <TextInput
            name="since"
            type="datetime-local"
            required
            defaultValue={localText(new Date(Date.now() - DAY_MS).toISOString())}
          />
        </Field>
        <Field label="Event" error={action.errorOf('type')}>
          <Select name="type" options={[{ value: '', label: 'Any' }, ...types]} />
        </Field>
      </ActionForm>
    </Dialog>
  );
}
