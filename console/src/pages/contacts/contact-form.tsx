import { useRef, useState, type SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { CloseButton } from '../../ui/action-form.tsx';
import { Button } from '../../ui/button.tsx';
import { CountryInput } from '../../ui/country-input.tsx';
import { DataFields } from '../../ui/data-fields.tsx';
import { blankRows, objectOf, type Row } from '../../ui/data-rows.ts';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { isObject, parseJson } from '../../ui/json-text.ts';
import { type Kept, KeptForm, useKept } from '../../ui/kept-form.tsx';
import { Notice } from '../../ui/notice.tsx';
import { addressOf } from '../../ui/contact-text.ts';
import { patched, patchOfData } from './data-patch.ts';

type Contact = Schemas['Contact'];
type Data = Contact['data'];

const FIELDS = ['first_name', 'last_name', 'email', 'phone', 'country_code', 'source', 'data'] as const;

/** For a new contact, an empty text means the same as none. */
const withoutEmpty = (data: Data): Data =>
  Object.fromEntries(Object.entries(data).filter(([, value]) => value !== ''));

/** @param begun the data that the user began with */
function attributesOf(form: FormData, data: Data, begun: Data, contact: Contact | undefined) {
  const text = (name: string) => formText(form, name).trim();
  const email = text('email');
  const phone = text('phone');
  // An address is sent only if it differs: the same one would be no change, and an empty one is not allowed.
  const isNew = (value: string, kind: 'email' | 'phone') =>
    value !== '' && (!contact || value !== addressOf(contact, kind));
  return {
    first_name: text('first_name') || null,
    last_name: text('last_name') || null,
    country_code: text('country_code') || null,
    source: text('source') || null,
    ...(isNew(email, 'email') ? { email } : {}),
    ...(isNew(phone, 'phone') ? { phone } : {}),
    data: contact ? patchOfData(begun, data) : withoutEmpty(data),
  };
}

/** The name of the button that saves a contact and begins with the next. */
const ANOTHER = 'another';

/** What the API says of the data, or of a value in it. */
const dataErrors = (errors: Readonly<Record<string, readonly string[]>>) =>
  Object.entries(errors).flatMap(([path, texts]) =>
    path === 'data' || path.startsWith('data.') ? texts.map((text) => `${path} ${text}`) : [],
  );

/**
 * Creates a contact, or changes one.
 * @param props.rows the names of data that a new contact probably has, too
 * @param props.onAnother begins with the next one, whose data probably have the same names
 */
export function ContactForm(props: ContactFormProps) {
  const kept = useKept(props.contact ? `contact.${props.contact.id}` : 'new-contact');
  return <Form key={kept.generation} kept={kept} {...props} />;
}

interface ContactFormProps {
  contact?: Contact;
  rows?: readonly Row[];
  onDone: (saved: Contact) => void;
  onAnother?: (rows: readonly Row[]) => void;
  onCancel: () => void;
}

function readData(text: string | undefined): Data | null {
  const parsed = parseJson(text ?? '');
  return 'value' in parsed && isObject(parsed.value) ? parsed.value : null;
}

/** The data with what the user changed in an earlier visit; null if they changed nothing. */
function leftData(kept: Kept, given: Data): Data | null {
  const [left, base] = [readData(kept.first('data')), readData(kept.base('data'))];
  return left && base && patched(given, patchOfData(base, left));
}

function Form({ kept, contact, rows = [], onDone, onAnother, onCancel }: ContactFormProps & { kept: Kept }) {
  // What others write while the form is open is not a change by its user.
  const [given] = useState<Data>(contact?.data ?? objectOf(rows));
  const [left] = useState(() => leftData(kept, given));
  const [data, setData] = useState<Data>(left ?? given);
  const goesOn = useRef(false);
  const save = useAction({
    work: (body: ReturnType<typeof attributesOf>, key) =>
      contact
        ? call(() => api.PATCH('/v1/my/contacts/{id}', { params: { path: { id: contact.id } }, body }))
        : call(() => api.POST('/v1/my/contacts', { params: { header: { 'Idempotency-Key': key } }, body })),
    done: 'Contact saved.',
    fields: FIELDS,
    kept,
    onDone: (saved) => (goesOn.current ? onAnother?.(blankRows(data)) : onDone(saved)),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    goesOn.current = event.submitter?.getAttribute('name') === ANOTHER;
    save.run(attributesOf(new FormData(event.currentTarget), data, given, contact));
  };
  return (
    <KeptForm kept={kept} onSubmit={submit}>
      {save.fault !== null && <Notice tone="bad">{save.fault}</Notice>}
      <Inputs contact={contact} errorOf={save.errorOf} />
      <DataFields
        label="Data"
        hint="For templates and segments."
        nullText="removed"
        value={data}
        {...(contact || left ? {} : { rows })}
        onChange={setData}
        errors={dataErrors(save.errors)}
      />
      <input
        type="hidden"
        name="data"
        value={JSON.stringify(data)}
        data-base={JSON.stringify(given)}
        readOnly
      />
      <div className="actions">
        <Button type="submit" kind="primary" busy={save.busy}>
          Save
        </Button>
        {onAnother && (
          <Button type="submit" name={ANOTHER} busy={save.busy}>
            Save and add another
          </Button>
        )}
        <CloseButton kept={kept} onClick={onCancel} />
      </div>
    </KeptForm>
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
          autoFocus={!contact}
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
      <Field label="Country" error={errorOf('country_code')}>
        <CountryInput name="country_code" value={contact?.country_code ?? ''} />
      </Field>
      <Field label="Source" hint="Where the contact comes from." error={errorOf('source')}>
        <TextInput name="source" defaultValue={contact?.source ?? ''} />
      </Field>
    </>
  );
}
