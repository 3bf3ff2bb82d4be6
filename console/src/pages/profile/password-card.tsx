import { useRef, type SubmitEvent } from 'react';
import { api, call } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/details.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { NewPassword } from '../../ui/new-password.tsx';
import { Notice } from '../../ui/notice.tsx';

interface Passwords {
  current_password: string;
  password: string;
}

export function PasswordCard() {
  const { user } = useBrand().signedIn;
  const element = useRef<HTMLFormElement>(null);
  const change = useAction({
    work: (body: Passwords) => call(() => api.PUT('/v1/my/user/password', { body })),
    done: 'Password changed. Your other sessions have ended.',
    refresh: ['sessions', 'mcp_grants'],
    fields: ['current_password', 'password'],
    onDone: () => element.current?.reset(),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    change.run({
      current_password: formText(form, 'current_password'),
      password: formText(form, 'password'),
    });
  };
  return (
    <Card title="Password">
      <p>A new password ends all your other sessions, and disconnects your assistants.</p>
      <form onSubmit={submit} ref={element}>
        {change.fault !== null && <Notice tone="bad">{change.fault}</Notice>}
        <Field label="Current password" error={change.errorOf('current_password')}>
          <TextInput name="current_password" type="password" autoComplete="current-password" required />
        </Field>
        <NewPassword label="New password" username={user.email} error={change.errorOf('password')} />
        <div className="actions">
          <Button type="submit" kind="primary" busy={change.busy}>
            Change the password
          </Button>
        </div>
      </form>
    </Card>
  );
}
