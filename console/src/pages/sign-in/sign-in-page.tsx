import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type SubmitEvent } from 'react';
import { api, callWithPassword } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import { Entrance } from '../../shell/entrance.tsx';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { Notice } from '../../ui/notice.tsx';

const FIELDS = ['user.email', 'user.password', 'user.otp'];

/** Only paths of the console, so that a link cannot lead to another site. */
const safePath = (path: string | undefined) => (path !== undefined && /^\/(?![/\\])/.test(path) ? path : '/');

interface Credentials {
  email: string;
  password: string;
  otp?: string;
}

/** Signs in; asks for a code if the user has a second factor. */
export function SignInPage() {
  const { return_to: returnTo }: { return_to?: string } = useSearch({ strict: false });
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [needsCode, setNeedsCode] = useState(false);

  const signIn = useAction({
    async work(user: Credentials) {
      try {
        await callWithPassword(() => api.POST('/v1/login', { body: { user, session: 'cookie' } }));
        return true;
      } catch (error) {
        // The first time it only means that the user has a second factor.
        if (!(error instanceof ApiError) || error.code !== 'otp_required' || user.otp) throw error;
        setNeedsCode(true);
        return false;
      }
    },
    refresh: [],
    fields: FIELDS,
    onDone(signedIn) {
      if (!signedIn) return;
      queryClient.clear();
      void navigate({ href: safePath(returnTo) });
    },
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const otp = formText(form, 'otp').trim();
    const user = { email: formText(form, 'email'), password: formText(form, 'password') };
    signIn.run(otp ? { ...user, otp } : user);
  };

  return (
    <Entrance title="Sign in">
      <form onSubmit={submit}>
        {signIn.fault !== null && <Notice tone="bad">{signIn.fault}</Notice>}
        <Field label="Email address" error={signIn.errorOf('user.email')}>
          <TextInput name="email" type="email" autoComplete="username" required autoFocus />
        </Field>
        <Field label="Password" error={signIn.errorOf('user.password')}>
          <TextInput name="password" type="password" autoComplete="current-password" required />
        </Field>
        {needsCode && (
          <Field
            label="Code"
            hint="From your authenticator app, or a recovery code."
            error={signIn.errorOf('user.otp')}
          >
            <TextInput name="otp" autoComplete="one-time-code" required autoFocus />
          </Field>
        )}
        <div className="actions">
          <Button type="submit" kind="primary" busy={signIn.busy}>
            Sign in
          </Button>
          <Link to="/sign-in/forgot">Forgot your password?</Link>
        </div>
      </form>
    </Entrance>
  );
}
