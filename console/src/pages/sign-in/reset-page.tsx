import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { api, call } from '../../api/client.ts';
import { Entrance } from '../../shell/entrance.tsx';
import { useAction } from '../../ui/action.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { formText } from '../../ui/form.ts';
import { NewPassword } from '../../ui/new-password.tsx';
import { Notice } from '../../ui/notice.tsx';
import { Time } from '../../ui/details.tsx';
import { messageOf } from '../../api/errors.ts';

/** Sets a new password with a link of a mail. */
export function ResetPage() {
  const params: { token?: string } = useParams({ strict: false });
  const path = { token: params.token ?? '' };
  const shown = useQuery({
    queryKey: ['password_resets', path.token],
    queryFn: () => call(() => api.GET('/v1/password_resets/{token}', { params: { path } })),
    staleTime: Infinity,
  });
  const reset = useAction({
    work: (password: string) =>
      call(() => api.POST('/v1/password_resets/{token}', { params: { path }, body: { password } })),
    refresh: [],
    fields: ['password'],
  });
  return (
    <Entrance title="Set a new password">
      {reset.result ? (
        <Notice tone="good" title="The password is set">
          <p>All sessions of {reset.result.email} have ended. Sign in with the new password.</p>
        </Notice>
      ) : shown.error ? (
        <Notice tone="bad" title="This link does not work">
          <p>{messageOf(shown.error)}</p>
          <p>
            A link works once, for an hour. <Link to="/sign-in/forgot">Ask for a new one.</Link>
          </p>
        </Notice>
      ) : (
        <ActionForm
          action={reset}
          kept={null}
          onSubmit={(form) => reset.run(formText(form, 'password'))}
          submit="Set the password"
        >
          {shown.data && (
            <p>
              For {shown.data.email}. The link works until <Time at={shown.data.expires_at} full />.
            </p>
          )}
          <NewPassword
            label="New password"
            username={shown.data?.email ?? ''}
            error={reset.errorOf('password')}
          />
        </ActionForm>
      )}
      <Link to="/sign-in">Go to the sign-in</Link>
    </Entrance>
  );
}
