import { useState, type SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Field, TextArea, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { isObject, parseJson } from '../../ui/json-text.ts';
import { Notice } from '../../ui/notice.tsx';
import { addressOf } from './contact-text.ts';

type Contact = Schemas['Contact'];
type Data = Contact['data'];

const FIELDS = ['first_name', 'last_name', 'email', 'phone', 'country_code', 'source', 'data'] as const;

/** The API patches `data` by key: a key that the user has deleted must be null. */
const patchOfData = (before: Data, after: Data): Data => ({
  ...Object.fromEntries(Object.keys(before).map((key) => [key, null])),
  ...after,
});

function attributesOf(form: FormData, data: Data, contact: Contact | undefined) {
  const text = (name: string) => formText(form, name).trim();
  const email = text('email');
  const phone = text('phone');
  // An address goes along only if it differs: the same one would be no change, and an empty one is not allowed.
  const isNew = (value: string, kind: 'email' | 'phone') =>
    value !== '' && (!contact || value !== addressOf(contact, kind));
  return {
    first_name: text('first_name') || null,
    last_name: text('last_name') || null,
    country_code: text('country_code') || null,
    source: text('source') || null,
    ...(isNew(email, 'email') ? { email } : {}),
    ...(isNew(phone, 'phone') ? { phone } : {}),
    data: patchOfData(contact?.data ?? {}, data),
  };
}

/** Creates a contact, or changes one. */
export function ContactForm({
  contact,
  onDone,
  onCancel,
}: {
  contact?: Contact;
  onDone: (saved: Contact) => void;
  onCancel: () => void;
}) {
  const [dataFault, setDataFault] = useState<string | null>(null);
  const save = useAction({
    work: (body: ReturnType<typeof attributesOf>, key) =>
      contact
        ? call(() => api.PATCH('/v1/my/contacts/{id}', { params: { path: { id: contact.id } }, body }))
        : call(() => api.POST('/v1/my/contacts', { params: { header: { 'Idempotency-Key': key } }, body })),
    done: 'Contact saved.',
    fields: FIELDS,
    onDone,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const parsed = parseJson(formText(form, 'data').trim() || '{}');
    const fault = parsed.fault ?? (isObject(parsed.value) ? null : 'This must be a JSON object.');
    setDataFault(fault);
    if (parsed.fault === undefined && isObject(parsed.value))
      save.run(attributesOf(form, parsed.value, contact));
  };
  return (
    <form onSubmit={submit}>
      {save.fault !== null && <Notice tone="bad">{save.fault}</Notice>}
      <Inputs contact={contact} errorOf={save.errorOf} />
      <Field
        label="Data"
        hint="A JSON object, for templates and segments."
        error={dataFault ?? save.errorOf('data')}
      >
        <TextArea
          name="data"
          rows={6}
          spellCheck={false}
          className="mono"
          defaultValue={JSON.stringify(contact?.data ?? {}, null, 2)}
        />
      </Field>
      <div className="actions">
        <Button type="submit" kind="primary" busy={save.busy}>
          Save
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}

function Inputs({
  contact,
  errorOf,
}: {
  contact: Contact | undefined;
  errorOf: (path: string) => readonly string[];
}) {
  return (
    <>
      <Field label="Email address" error={errorOf('email')}>
        <TextInput
          name="email"
          type="email"
          defaultValue={contact ? (addressOf(contact, 'email') ?? '') : ''}
        />
      </Field>
      <Field label="Phone number" hint="With the country, such as +14155550123." error={errorOf('phone')}>
        <TextInput
          name="phone"
          type="tel"
          defaultValue={contact ? (addressOf(contact, 'phone') ?? '') : ''}
        />
      </Field>
      <Field label="First name" error={errorOf('first_name')}>
        <TextInput name="first_name" defaultValue={contact?.first_name ?? ''} />
      </Field>
      <Field label="Last name" error={errorOf('last_name')}>
        <TextInput name="last_name" defaultValue={contact?.last_name ?? ''} />
      </Field>
      <Field label="Country" hint="Two letters, such as DE." error={errorOf('country_code')}>
        <TextInput name="country_code" maxLength={2} defaultValue={contact?.country_code ?? ''} />
      </Field>
      <Field label="Source" hint="Where the contact comes from." error={errorOf('source')}>
        <TextInput name="source" defaultValue={contact?.source ?? ''} />
      </Field>
    </>
  );
}
