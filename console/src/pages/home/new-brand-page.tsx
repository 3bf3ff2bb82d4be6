import { useNavigate } from '@tanstack/react-router';
import { api, call, setTenant } from '../../api/client.ts';
import type { SignedIn } from '../../api/session.ts';
import { Entrance } from '../../shell/entrance.tsx';
import { OwnInvitations } from '../../shell/own-invitations.tsx';
import { useReloadSignedIn } from '../../shell/reload-signed-in.ts';
import { sessionRoute } from '../../shell/root-route.tsx';
import { signOut } from '../../shell/sign-out.ts';
import { useAction } from '../../ui/action.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { Button } from '../../ui/button.tsx';
import { Field, Select, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';

/** Creates a brand. Users whose accounts have none come here after the sign-in. */
export function NewBrandPage() {
  const { signedIn }: { signedIn: SignedIn } = sessionRoute.useRouteContext();
  return (
    <Entrance title="Create a brand">
      <OwnInvitations />
      {signedIn.accounts.length === 0 ? (
        <p>You belong to no account. Ask someone to invite {signedIn.user.email}.</p>
      ) : (
        <BrandForm accounts={signedIn.accounts} />
      )}
      <Button kind="quiet" onClick={() => void signOut()}>
        Sign out
      </Button>
    </Entrance>
  );
}

function BrandForm({ accounts }: Pick<SignedIn, 'accounts'>) {
  const navigate = useNavigate();
  const reloadSignedIn = useReloadSignedIn();
  const create = useAction({
    work(body: { company_name: string; accountId: number }, key) {
      const { accountId, company_name } = body;
      setTenant({ accountId, brandId: null });
      const params = { header: { 'Idempotency-Key': key } };
      return call(() => api.POST('/v1/my/brands', { params, body: { company_name } }));
    },
    refresh: [],
    fields: ['company_name'],
    onDone: ({ id }) => void reloadSignedIn().then(() => navigate({ to: `/brands/${id}` })),
  });
  const submit = (form: FormData) => {
    create.run({
      company_name: formText(form, 'company_name').trim(),
      accountId: Number(formText(form, 'account_id')),
    });
  };
  return (
    <ActionForm action={create} kept={null} onSubmit={submit} submit="Create the brand">
      <p>A brand is what your recipients see as the sender. Contacts, templates and keys belong to one.</p>
      <Field label="Name of the company or product" error={create.errorOf('company_name')}>
        <TextInput name="company_name" autoComplete="organization" required autoFocus />
      </Field>
      {accounts.length === 1 ? (
        <input type="hidden" name="account_id" value={accounts[0]?.id} />
      ) : (
        <Field label="Account">
          <Select
            name="account_id"
            options={accounts.map(({ id, name }) => ({ value: String(id), label: name || `Account ${id}` }))}
          />
        </Field>
      )}
    </ActionForm>
  );
}
