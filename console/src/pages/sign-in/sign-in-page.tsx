import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState, type SubmitEvent } from 'react';
import { api, call } from '../../api/client.ts';
import { ApiError, messageOf } from '../../api/errors.ts';
import { Button } from '../../ui/button.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { Notice } from '../../ui/notice.tsx';

/** Only paths of the console, so that a link cannot lead to another site. */
const safePath = (path: string | undefined) =>
  path?.startsWith('/') === true && !path.startsWith('//') ? path : '/';

export function SignInPage() {
  const { return_to: returnTo }: { return_to?: string } = useSearch({ strict: false });
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [needsCode, setNeedsCode] = useState(false);
  const [fault, setFault] = useState<string | null>(null);

  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => formText(form, name);
    const otp = text('otp');
    const user = { email: text('email'), password: text('password'), ...(otp ? { otp } : {}) };
    try {
      await call(() => api.POST('/v1/login', { body: { user, session: 'cookie' } }));
      queryClient.clear();
      await navigate({ href: safePath(returnTo) });
    } catch (error) {
      if (error instanceof ApiError && error.code === 'otp_required') {
        setNeedsCode(true);
        setFault(otp ? messageOf(error) : null);
      } else setFault(messageOf(error));
    }
  };

  return (
    <main className="narrow">
      <h1>Sign in</h1>
      <form onSubmit={(event) => void submit(event)}>
        {fault !== null && <Notice tone="bad">{fault}</Notice>}
        <Field label="Email address">
          <TextInput name="email" type="email" autoComplete="username" required autoFocus />
        </Field>
        <Field label="Password">
          <TextInput name="password" type="password" autoComplete="current-password" required />
        </Field>
        {needsCode && (
          <Field label="Code" hint="From your authenticator app, or a recovery code.">
            <TextInput name="otp" autoComplete="one-time-code" required autoFocus />
          </Field>
        )}
        <Button type="submit" kind="primary">
          Sign in
        </Button>
      </form>
    </main>
  );
}
