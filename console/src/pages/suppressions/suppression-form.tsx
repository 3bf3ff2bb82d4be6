import { api, call } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { Field, TextArea, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { useKept } from '../../ui/kept-form.tsx';
import { timeOf } from '../../ui/local-time.ts';

interface NewSuppression {
  email?: string;
  phone?: string;
  diagnostic: string | null;
  expires_at: string | null;
}

/** Stops all messages to one address. */
export function SuppressionForm({ onClose }: { onClose: () => void }) {
  const kept = useKept('new-suppression');
  const save = useAction({
    work: (body: NewSuppression, key) =>
      call(() => api.POST('/v1/my/suppressions', { params: { header: { 'Idempotency-Key': key } }, body })),
    done: 'Suppression added.',
    refresh: ['suppressions', 'contacts'],
    fields: ['email', 'phone', 'diagnostic', 'expires_at'],
    onDone: onClose,
    kept,
  });
  const submit = (form: FormData) => {
    const address = formText(form, 'address').trim();
    save.run({
      ...(address.includes('@') ? { email: address } : { phone: address }),
      diagnostic: formText(form, 'diagnostic').trim() || null,
      expires_at: timeOf(formText(form, 'expires_at')),
    });
  };
  return (
    <ActionForm
      action={save}
      kept={kept}
      onSubmit={submit}
      submit="Suppress"
      close={{ label: 'Cancel', onClick: onClose }}
    >
      <Field
        label="Email address or phone number"
        error={[...save.errorOf('email'), ...save.errorOf('phone')]}
      >
        <TextInput name="address" required />
      </Field>
      <Field label="Note" hint="Why the address gets no messages." error={save.errorOf('diagnostic')}>
        <TextArea name="diagnostic" rows={2} />
      </Field>
      <Field label="Until" hint="Without a time, until you end it." error={save.errorOf('expires_at')}>
        <TextInput name="expires_at" type="datetime-local" />
      </Field>
    </ActionForm>
  );
}
