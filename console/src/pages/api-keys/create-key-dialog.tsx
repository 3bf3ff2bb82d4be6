import { api, call, type Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { useAction } from '../../ui/action.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { useKept } from '../../ui/kept-form.tsx';
import { brandOptions } from './brand-options.ts';

const FIELDS = ['name', 'test', 'scopes', 'brand_id', 'rate_limit_per_second'];
const KINDS = [
  { value: 'live', label: 'Live: messages are sent' },
  { value: 'send', label: 'Send-only: it can send, and read what it sent' },
  { value: 'test', label: 'Test: messages are checked, but not sent' },
];

interface NewKey {
  name: string;
  test: boolean;
  scopes: ['send'] | null;
  brand_id: number;
  rate_limit_per_second: number | null;
}

function readKey(form: FormData): NewKey {
  const limit = formText(form, 'rate_limit_per_second');
  const kind = formText(form, 'kind');
  return {
    name: formText(form, 'name').trim(),
    test: kind === 'test',
    scopes: kind === 'send' ? ['send'] : null,
    brand_id: Number(formText(form, 'brand_id')),
    rate_limit_per_second: limit === '' ? null : Number(limit),
  };
}

export function CreateKeyDialog({
  onClose,
  onCreated,
}: {
  onClose: () => void;
  onCreated: (key: Schemas['CreatedApiKey']) => void;
}) {
  const { account, brandId } = useBrand();
  const kept = useKept('new-api-key');
  const create = useAction({
    work: (body: NewKey, key) =>
      call(() => api.POST('/v1/my/api_keys', { params: { header: { 'Idempotency-Key': key } }, body })),
    refresh: ['api_keys'],
    fields: FIELDS,
    onDone: onCreated,
    kept,
  });
  const submit = (form: FormData) => create.run(readKey(form));
  return (
    <Dialog open onClose={onClose} title="Create an API key">
      <ActionForm
        action={create}
        kept={kept}
        onSubmit={submit}
        submit="Create"
        close={{ label: 'Cancel', onClick: onClose }}
      >
        <Field label="Name" hint="Such as the program that will use it." error={create.errorOf('name')}>
          <TextInput name="name" maxLength={100} autoComplete="off" required autoFocus />
        </Field>
        <Field
          label="Kind"
          hint="Send-only is for programs that keep their key where others may read it, such as a website."
          error={create.errorOf('test') ?? create.errorOf('scopes')}
        >
          <Select name="kind" options={KINDS} />
        </Field>
        <Field label="Brand" error={create.errorOf('brand_id')}>
          <Select name="brand_id" options={brandOptions(account)} defaultValue={String(brandId)} />
        </Field>
        <Field
          label="Requests per second"
          hint="Empty: the limit of this service."
          error={create.errorOf('rate_limit_per_second')}
        >
          <TextInput name="rate_limit_per_second" type="number" min={1} />
        </Field>
      </ActionForm>
    </Dialog>
  );
}
