import type { Action } from '../../ui/action.ts';
import { StatusBadge } from '../../ui/details.tsx';
import { Checkbox, Field, TextInput } from '../../ui/field.tsx';
import { accountEvents, EMAIL_EVENTS, type EventType, type Webhook } from './webhook-events.ts';

export const WEBHOOK_FIELDS = ['url', 'events'];

/** The inputs of a webhook. Events of the account are shown, and stay as they are. */
export function WebhookFields({
  webhook,
  errorOf,
}: {
  webhook?: Webhook;
  errorOf: Action<unknown, unknown>['errorOf'];
}) {
  const kept = webhook ? accountEvents(webhook) : [];
  const errors = errorOf('events');
  return (
    <>
      <Field label="URL" hint="An https URL with a public host." error={errorOf('url')}>
        <TextInput
          name="url"
          type="url"
          required
          autoFocus={!webhook}
          autoComplete="off"
          placeholder="https://example.com/hooks/carillon"
          defaultValue={webhook?.url}
        />
      </Field>
      <fieldset className="choices">
        <legend>Events</legend>
        {EMAIL_EVENTS.map(({ type, meaning }) => (
          <Checkbox
            key={type}
            name="events"
            value={type}
            defaultChecked={webhook?.events.includes(type) ?? true}
            label={<code>{type}</code>}
            hint={meaning}
          />
        ))}
        {errors.length > 0 && (
          <p className="field-error" role="alert">
            {errors.join(' ')}
          </p>
        )}
      </fieldset>
      {kept.length > 0 && (
        <div className="field">
          <p className="hint">Also subscribed through the API. These stay as they are:</p>
          <p className="actions">
            {kept.map((type) => (
              <StatusBadge key={type} status={type} />
            ))}
          </p>
        </div>
      )}
    </>
  );
}

/** Returns the ticked events of a form. */
export const tickedEvents = (form: FormData): EventType[] =>
  EMAIL_EVENTS.map(({ type }) => type).filter((type) => form.getAll('events').includes(type));
