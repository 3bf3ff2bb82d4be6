import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { useKept } from '../../ui/kept-form.tsx';
import { useOpen } from '../../ui/links.tsx';

interface Given {
  name: string;
  provider?: string;
}

/** Registers a domain, and opens its page with the records to publish. */
export function AddDomain({ onClose }: { onClose: () => void }) {
  const open = useOpen();
  const kept = useKept('new-domain');
  const action = useAction({
    work: (domain: Given, key) =>
      call(() =>
        api.POST('/v1/my/domains', {
          params: { header: { 'Idempotency-Key': key } },
          body: { domain },
        }),
      ),
    refresh: ['domains'],
    fields: ['domain.name', 'domain.provider'],
    onDone: ({ id }) => open(`/domains/${id}`),
    kept,
  });
  const submit = (form: FormData) => {
    const provider = formText(form, 'provider').trim();
    action.run({ name: formText(form, 'name').trim(), ...(provider === '' ? {} : { provider }) });
  };
  return (
    <Dialog open onClose={onClose} title="Add a domain">
      <ActionForm
        action={action}
        kept={kept}
        onSubmit={submit}
        submit="Add domain"
        close={{ label: 'Cancel', onClick: onClose }}
      >
        <Field
          label="Domain"
          hint="A domain or a subdomain that you can add DNS records to, such as example.com or news.example.com."
          error={action.errorOf('domain.name')}
        >
          <TextInput name="name" required autoFocus autoComplete="off" placeholder="example.com" />
        </Field>
        <Field
          label="Provider"
          hint="Only if an operator of this service has given you a name to use."
          error={action.errorOf('domain.provider')}
        >
          <TextInput name="provider" autoComplete="off" />
        </Field>
      </ActionForm>
    </Dialog>
  );
}
