import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { Entrance } from '../../shell/entrance.tsx';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Time } from '../../ui/details.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { NewPassword } from '../../ui/new-password.tsx';
import { Notice } from '../../ui/notice.tsx';

/** The page behind the link of an invitation, on which a new user is created. */
export function InvitationPage() {
  const params: { token?: string } = useParams({ strict: false });
  const token = params.token ?? '';
  const shown = useQuery({
    queryKey: ['invitations', token],
    queryFn: () => call(() => api.GET('/v1/invitations/{token}', { params: { path: { token } } })),
    staleTime: Infinity,
  });
  if (shown.data) return <Acceptance token={token} invitation={shown.data} />;
  return (
    <Entrance title="Your invitation">
      {shown.error ? (
        <Notice tone="bad" title="This link does not work">
          <p>{messageOf(shown.error)}</p>
          <p>
            A link works once, for seven days. Ask the person who invited you for a new one. If you are a user
            already, sign in: your invitations are shown there.
          </p>
        </Notice>
      ) : (
        <div className="loading" role="status">
          Loading…
        </div>
      )}
      <Link to="/sign-in">Go to the sign-in</Link>
    </Entrance>
  );
}

interface NewUser {
  password: string;
  first_name: string;
  last_name: string;
}

function Acceptance({ token, invitation }: { token: string; invitation: Schemas['ShownInvitation'] }) {
  const accept = useAction({
    work: (body: NewUser) =>
      call(() => api.POST('/v1/invitations/{token}/accept', { params: { path: { token } }, body })),
    refresh: [],
    fields: ['password', 'first_name', 'last_name'],
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: keyof NewUser) => formText(form, name);
    accept.run({
      password: text('password'),
      first_name: text('first_name'),
      last_name: text('last_name'),
    });
  };
  const accountName = invitation.account_name || 'an account';
  if (accept.result) {
    return (
      <Entrance title="Welcome">
        <p>
          You are now a user of {accountName}. Sign in with {accept.result.email} and your password.
        </p>
        <Link className="button primary" to="/sign-in">
          Sign in
        </Link>
      </Entrance>
    );
  }
  return (
    <Entrance title={`Join ${accountName}`}>
      <p>
        {invitation.email} is invited as {invitation.role}. The link works until{' '}
        <Time at={invitation.expires_at} full />.
      </p>
      <form onSubmit={submit}>
        {accept.fault !== null && <Notice tone="bad">{accept.fault}</Notice>}
        <Field label="First name" error={accept.errorOf('first_name')}>
          <TextInput name="first_name" autoComplete="given-name" />
        </Field>
        <Field label="Last name" error={accept.errorOf('last_name')}>
          <TextInput name="last_name" autoComplete="family-name" />
        </Field>
        <NewPassword label="Password" username={invitation.email} error={accept.errorOf('password')} />
        <div className="actions">
          <Button type="submit" kind="primary" busy={accept.busy}>
            Accept the invitation
          </Button>
          <Link to="/sign-in">I already have a password</Link>
        </div>
      </form>
    </Entrance>
  );
}
