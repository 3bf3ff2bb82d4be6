import type { SubmitEvent } from 'react';
import { api, call } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { LeaveButton } from '../../shell/leave-button.tsx';
import { useReloadSignedIn } from '../../shell/reload-signed-in.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { CountryInput } from '../../ui/country-input.tsx';
import { Card } from '../../ui/details.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { PageHeader } from '../../ui/list-page.tsx';
import { KeptForm, useKept } from '../../ui/kept-form.tsx';
import { Notice } from '../../ui/notice.tsx';
import { ProfileTabs } from './profile-tabs.tsx';
import { PasswordCard } from './password-card.tsx';
import { SecondFactorCard } from './second-factor-card.tsx';

/** The user's own name, password and second factor. */
export function ProfilePage() {
  const { account, role, signedIn } = useBrand();
  return (
    <>
      <PageHeader title="Profile and security">
        <p className="muted">{signedIn.user.email}</p>
      </PageHeader>
      <ProfileTabs />
      <div className="grid">
        <NameCard />
        <PasswordCard />
        <SecondFactorCard />
        <Card title="Membership">
          <p>
            You are {role} of {account.name || `account ${account.id}`}.
          </p>
          <div className="actions">
            <LeaveButton />
          </div>
        </Card>
      </div>
    </>
  );
}

const FIELDS = ['first_name', 'last_name', 'mobile', 'country_code'] as const;
type Names = Record<(typeof FIELDS)[number], string>;

function NameCard() {
  const { user } = useBrand().signedIn;
  const reloadSignedIn = useReloadSignedIn();
  const kept = useKept('profile');
  const save = useAction({
    work: (body: Names) => call(() => api.PATCH('/v1/my/user', { body })),
    done: 'Profile saved.',
    refresh: [],
    fields: FIELDS,
    onDone: () => void reloadSignedIn(),
    kept,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: keyof Names) => formText(form, name).trim();
    save.run({
      first_name: text('first_name'),
      last_name: text('last_name'),
      mobile: text('mobile'),
      country_code: text('country_code'),
    });
  };
  const input = (name: keyof Names, autoComplete: string) => (
    <TextInput name={name} autoComplete={autoComplete} defaultValue={user[name]} />
  );
  return (
    <Card title="Profile">
      <KeptForm kept={kept} onSubmit={submit}>
        {save.fault !== null && <Notice tone="bad">{save.fault}</Notice>}
        <Field label="First name" error={save.errorOf('first_name')}>
          {input('first_name', 'given-name')}
        </Field>
        <Field label="Last name" error={save.errorOf('last_name')}>
          {input('last_name', 'family-name')}
        </Field>
        <Field
          label="Mobile number"
          hint="Such as +49 151 23456789. Templates can send test messages to it."
          error={save.errorOf('mobile')}
        >
          {input('mobile', 'tel')}
        </Field>
        <Field label="Country" error={save.errorOf('country_code')}>
          <CountryInput name="country_code" autoComplete="country-name" value={user.country_code} />
        </Field>
        <div className="actions">
          <Button type="submit" kind="primary" busy={save.busy}>
            Save
          </Button>
        </div>
      </KeptForm>
    </Card>
  );
}
