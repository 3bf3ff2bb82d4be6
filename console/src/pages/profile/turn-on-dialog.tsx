import type { SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { CodeBlock } from '../../ui/code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { Notice } from '../../ui/notice.tsx';

/** Shows the secret for the authenticator app, and turns the second factor on by the app's first code. */
export function TurnOnDialog({
  secret,
  refresh,
  onClose,
  onDone,
}: {
  secret: Schemas['SecondFactorSecret'];
  refresh: readonly string[];
  onClose: () => void;
  onDone: (recoveryCodes: readonly string[]) => void;
}) {
  const confirm = useAction({
    work: (otp: string) => call(() => api.POST('/v1/my/user/second_factor/confirm', { body: { otp } })),
    done: 'Second factor turned on. Your other sessions have ended.',
    refresh,
    fields: ['otp'],
    onDone: ({ recovery_codes: codes }) => onDone(codes),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    confirm.run(formText(new FormData(event.currentTarget), 'otp').trim());
  };
  return (
    <Dialog open onClose={onClose} title="Turn the second factor on">
      <p>
        Add an entry to your authenticator app with this secret, or <a href={secret.uri}>open the app</a> if
        it is on this device. The secret is shown only now.
      </p>
      <CodeBlock text={secret.secret} label="Secret (SHA-1, 6 digits, 30 seconds)" />
      <form onSubmit={submit}>
        {confirm.fault !== null && <Notice tone="bad">{confirm.fault}</Notice>}
        <Field label="Code from the app" hint="Six digits." error={confirm.errorOf('otp')}>
          <TextInput name="otp" autoComplete="one-time-code" inputMode="numeric" required autoFocus />
        </Field>
        <div className="actions">
          <Button type="submit" kind="primary" busy={confirm.busy}>
            Turn it on
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
