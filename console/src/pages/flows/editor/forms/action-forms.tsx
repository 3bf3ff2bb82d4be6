/** The forms of steps that change or notify something. */
import { DataFields } from '../../../../ui/data-fields.tsx';
import { Checkbox, Field, Select, TextInput } from '../../../../ui/field.tsx';
import { JsonField } from '../../../../ui/json-field.tsx';
import { EventNameField } from './event-name-field.tsx';
import { NoneYet } from './none-yet.tsx';
import { allErrors, type StepFormProps } from './form.ts';

export const EventForm = ({ step, change, errors }: StepFormProps) => (
  <>
    <EventNameField
      label="Event"
      value={step.event_name ?? ''}
      error={errors.event_name}
      onChange={(name) => change({ event_name: name || undefined })}
    />
    <Checkbox
      label="With the data of the event that started the run"
      checked={step.forward_event_data === true}
      onChange={(event) => change({ forward_event_data: event.target.checked ? true : undefined })}
    />
    <DataFields
      label="Data"
      value={step.data}
      errors={allErrors(errors, 'data')}
      onChange={(data) => change({ data })}
    />
  </>
);

export const UpdateContactForm = ({ step, change, errors }: StepFormProps) => (
  <DataFields
    label="Data of the contact"
    value={step.data}
    nullText="remove it"
    errors={allErrors(errors, 'data')}
    onChange={(data) => change({ data })}
  />
);

export const ListForm = ({ step, change, errors, names }: StepFormProps) => (
  <Field label="List" error={errors.list_id} hint={names.lists.length === 0 && <NoneYet what="list" />}>
    <Select
      value={step.list_id === undefined ? '' : String(step.list_id)}
      options={[{ value: '', label: 'Choose a list' }, ...names.lists]}
      onChange={(event) => change({ list_id: Number(event.target.value) || undefined })}
    />
  </Field>
);

const METHODS = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE'];

export const WebhookForm = ({ step, change, errors }: StepFormProps) => (
  <>
    <Field label="URL" hint="It must begin with https." error={errors.url}>
      <TextInput
        type="url"
        value={step.url ?? ''}
        onChange={(event) => change({ url: event.target.value || undefined })}
      />
    </Field>
    <Field label="Method" error={errors.method}>
      <Select
        value={step.method ?? 'POST'}
        options={METHODS}
        onChange={(event) => change({ method: event.target.value })}
      />
    </Field>
    <DataFields
      label="Headers"
      value={step.headers}
      textsOnly
      errors={allErrors(errors, 'headers')}
      onChange={(headers) => change({ headers })}
    />
    <JsonField
      label="Body"
      hint="JSON. Without one, the ids of the flow, the run, the step and the contact, and the event are sent."
      value={step.body}
      error={allErrors(errors, 'body')}
      onChange={(body) => change({ body })}
    />
  </>
);

export const ExitForm = ({ step, change, errors }: StepFormProps) => (
  <Field label="Reason" hint="A name such as converted, for reports." error={errors.reason}>
    <TextInput
      value={step.reason ?? ''}
      onChange={(event) => change({ reason: event.target.value === '' ? undefined : event.target.value })}
    />
  </Field>
);
