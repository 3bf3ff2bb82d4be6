import { useEffect, useRef, useState, type SubmitEvent } from 'react';
import { api, callWithPassword, onConfirmationRequired } from '../api/client.ts';
import { messageOf } from '../api/errors.ts';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field, TextInput } from '../ui/field.tsx';
import { formText } from '../ui/form.ts';

/** Asks for the password again if the API requires it for a change, such as that of a key. The request then continues. */
export function ConfirmPassword() {
  const answer = useRef<((given: boolean) => void) | null>(null);
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);

  useEffect(() => {
    onConfirmationRequired(
      () =>
        new Promise((resolve) => {
          answer.current?.(false);
          answer.current = resolve;
          setFault(null);
          setOpen(true);
        }),
    );
  }, []);

  const close = (given: boolean) => {
    setOpen(false);
    answer.current?.(given);
    answer.current = null;
  };
  const submit = async (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const otp = formText(form, 'otp');
    setBusy(true);
    try {
      const body = { password: formText(form, 'password'), ...(otp ? { otp } : {}) };
      await callWithPassword(() => api.POST('/v1/my/session/confirm', { body }));
      close(true);
    } catch (error) {
      setFault(messageOf(error));
    } finally {
      setBusy(false);
    }
  };

  return (
    <Dialog open={open} onClose={() => close(false)} title="Enter your password again">
      <form onSubmit={(event) => void submit(event)}>
        <p>This change needs a password that was given within the last 15 minutes.</p>
        <Field label="Password" error={fault}>
          <TextInput name="password" type="password" autoComplete="current-password" required autoFocus />
        </Field>
        <Field label="Code from the authenticator app" hint="Only if you have turned it on.">
          <TextInput name="otp" autoComplete="one-time-code" inputMode="numeric" />
        </Field>
        <div className="actions">
          <Button type="submit" kind="primary" busy={busy}>
            Continue
          </Button>
          <Button onClick={() => close(false)}>Cancel</Button>
        </div>
      </form>
    </Dialog>
  );
}
