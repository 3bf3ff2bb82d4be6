import { useState, type MouseEvent, type SubmitEvent } from 'react';
import { useListChoices } from '../../api/audience.ts';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock, curlOf } from '../../ui/code.tsx';
import { Card } from '../../ui/details.tsx';
import { Checkbox, Field, Select, TextInput } from '../../ui/field.tsx';
import { useOpen } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { Notice } from '../../ui/notice.tsx';
import { CheckedFile } from './checked-file.tsx';
import { ColumnMapping, type Mapping } from './column-mapping.tsx';
import { readColumns, type CsvColumn } from './csv-header.ts';

type Resource = Schemas['Import']['resource'];
type Options = Partial<Schemas['Import']['options']>;

interface Chosen {
  file: File;
  columns: CsvColumn[];
}

interface Wanted {
  file: File;
  resource: Resource;
  options: Options;
}

const RESOURCES: readonly { value: Resource; label: string }[] = [
  { value: 'contacts', label: 'Contacts' },
  { value: 'suppressions', label: 'Suppressions' },
];

/** What all people of the file may be. */
const STATES = [
  { value: 'unsubscribed', label: 'Unsubscribed' },
  { value: 'never_subscribed', label: 'Never subscribed' },
  { value: 'pending', label: 'Waiting for confirmation' },
  { value: 'bounced', label: 'Bounced' },
  { value: 'complained', label: 'Complained about spam' },
] as const;

/** Sends the file as a form, as `curl -F` does. */
const send = ({ file, resource, options }: Wanted, key: string) =>
  call(() =>
    api.POST('/v1/my/imports', {
      params: { header: { 'Idempotency-Key': key } },
      body: { file: file.name, resource, options: JSON.stringify(options) },
      bodySerializer(fields) {
        const form = new FormData();
        if (fields.options !== undefined) form.set('options', fields.options);
        if (fields.resource !== undefined) form.set('resource', fields.resource);
        form.set('file', file);
        return form;
      },
    }),
  );

export function NewImportPage() {
  return (
    <>
      <PageHeader title="Import a file" />
      <ImportForm />
      <CodeBlock
        label="Or by the API"
        text={`${curlOf('POST', '/v1/my/imports')} \\\n  -F file=@contacts.csv -F resource=contacts`}
      />
    </>
  );
}

function ImportForm() {
  const open = useOpen();
  const [resource, setResource] = useState<Resource>('contacts');
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const [mapping, setMapping] = useState<Mapping>({});
  const start = useAction({
    work: send,
    refresh: ['imports'],
    fields: ['file', 'options'],
    onDone: ({ id }) => open(`/imports/${id}`),
  });
  const [checkedId, setCheckedId] = useState<number | null>(null);
  const check = useAction({
    work: send,
    refresh: ['imports'],
    fields: ['file', 'options'],
    onDone: ({ id }) => setCheckedId(id),
  });
  const choose = async (file: File | undefined) => {
    setMapping({});
    setChosen(file ? { file, columns: await readColumns(file) } : null);
  };
  const optionsOf = (element: HTMLFormElement): Options => {
    const form = new FormData(element);
    return {
      ...(resource === 'contacts'
        ? {
            list_ids: form.getAll('list_ids').map(Number),
            update_existing: form.has('update_existing'),
            subscribe: form.has('subscribe'),
            status: STATES.find(({ value }) => value === form.get('status'))?.value ?? null,
          }
        : {}),
      mapping,
      dry_run: form.has('dry_run'),
    };
  };
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (chosen) start.run({ file: chosen.file, resource, options: optionsOf(event.currentTarget) });
  };
  const checkFile = ({ currentTarget: { form } }: MouseEvent<HTMLButtonElement>) => {
    if (!chosen || form?.reportValidity() !== true) return;
    setCheckedId(null);
    check.run({ file: chosen.file, resource, options: { ...optionsOf(form), dry_run: true } });
  };
  return (
    <form onSubmit={submit} onChange={() => setCheckedId(null)}>
      {start.fault !== null && <Notice tone="bad">{start.fault}</Notice>}
      {check.fault !== null && <Notice tone="bad">{check.fault}</Notice>}
      <FileInputs
        resource={resource}
        errors={[...start.errorOf('file'), ...check.errorOf('file')]}
        onResource={(next) => {
          setMapping({});
          setResource(next);
        }}
        onFile={(file) => void choose(file)}
      />
      {chosen && (
        <Card title="Columns">
          <p className="muted">
            {resource === 'contacts'
              ? 'Columns with usual names are recognized; others become data of the contact.'
              : 'Columns with usual names are recognized; others are ignored.'}
          </p>
          <ColumnMapping
            resource={resource}
            columns={chosen.columns}
            mapping={mapping}
            onChange={setMapping}
          />
        </Card>
      )}
      <OptionInputs resource={resource} errors={[...start.errorOf('options'), ...check.errorOf('options')]} />
      {checkedId !== null && <CheckedFile id={checkedId} />}
      <div className="actions">
        <Button busy={check.busy} disabled={!chosen} onClick={checkFile}>
          {check.busy ? 'Uploading…' : 'Check the file'}
        </Button>
        <Button type="submit" kind="primary" busy={start.busy} disabled={!chosen}>
          {start.busy ? 'Uploading…' : 'Import'}
        </Button>
      </div>
    </form>
  );
}

function FileInputs({
  resource,
  errors,
  onResource,
  onFile,
}: {
  resource: Resource;
  errors: readonly string[];
  onResource: (next: Resource) => void;
  onFile: (file: File | undefined) => void;
}) {
  return (
    <Card title="File">
      <Field label="What the rows are">
        <Select
          value={resource}
          options={RESOURCES}
          onChange={(event) =>
            onResource(event.target.value === 'suppressions' ? 'suppressions' : 'contacts')
          }
        />
      </Field>
      <Field
        label="CSV file"
        hint="Up to 1 GB, with a header row. Commas, semicolons or tabs; the encoding is detected."
        error={errors}
      >
        <TextInput
          type="file"
          accept=".csv,.tsv,.txt,text/csv"
          required
          onChange={(event) => onFile(event.target.files?.[0])}
        />
      </Field>
    </Card>
  );
}

function OptionInputs({ resource, errors }: { resource: Resource; errors: readonly string[] }) {
  const lists = useListChoices();
  return (
    <Card title="Options">
      {errors.length > 0 && <Notice tone="bad">{errors.join(' ')}</Notice>}
      {resource === 'contacts' && (
        <>
          {lists.length > 0 && (
            <fieldset className="choices">
              <legend>Add every contact of the file to these lists</legend>
              {lists.map(({ value, label }) => (
                <Checkbox key={value} name="list_ids" value={value} label={label} />
              ))}
            </fieldset>
          )}
          <Checkbox
            name="update_existing"
            defaultChecked
            label="Change existing contacts"
            hint="Otherwise their rows only add them to the lists, and unsubscribe those who said no."
          />
          <Checkbox
            name="subscribe"
            defaultChecked
            label="Subscribe new contacts"
            hint="Only if they have asked for your mail. Addresses that have unsubscribed stay unsubscribed."
          />
          <Field
            label="Everyone in the file is"
            hint="For a file of unsubscribed people without a column about it."
          >
            <Select name="status" options={[{ value: '', label: 'As the columns say' }, ...STATES]} />
          </Field>
        </>
      )}
      <Checkbox
        name="dry_run"
        label="Only check the file"
        hint="Counts what the import would do, and changes nothing."
      />
    </Card>
  );
}
