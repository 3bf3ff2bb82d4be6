import { Link } from '@tanstack/react-router';
import { api, call } from '../../api/client.ts';
import { Entrance } from '../../shell/entrance.tsx';
import { useAction } from '../../ui/action.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { Notice } from '../../ui/notice.tsx';

/** Asks for a link to set a new password. The API never says whether the address has a user. */
export function ForgotPage() {
  const ask = useAction({
    work: (email: string) => call(() => api.POST('/v1/password_resets', { body: { email } })),
    refresh: [],
    fields: ['email'],
  });
  return (
    <Entrance title="Set a new password">
      {ask.result ? (
        <Notice tone="good" title="Check your mailbox">
          <p>
            If {ask.result.email} belongs to a user, a link is on its way. It works once, for an hour. Nothing
            arrives? Ask the people who run this service for a link.
          </p>
        </Notice>
      ) : (
        <ActionForm
          action={ask}
          kept={null}
          onSubmit={(form) => ask.run(formText(form, 'email'))}
          submit="Send the link"
        >
          <Field
            label="Email address"
            hint="You get a link to set a new password."
            error={ask.errorOf('email')}
          >
            <TextInput name="email" type="email" autoComplete="username" required autoFocus />
          </Field>
        </ActionForm>
      )}
      <Link to="/sign-in">Back to the sign-in</Link>
    </Entrance>
  );
}
