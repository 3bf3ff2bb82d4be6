import type { SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useReloadSignedIn } from '../../shell/reload-signed-in.ts';
import { useAction } from '../../ui/action.ts';
import { addressLines } from '../../ui/address-lines.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/details.tsx';
import { Field, TextArea, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { KeptForm, useKept } from '../../ui/kept-form.tsx';
import { Notice } from '../../ui/notice.tsx';

const TEXTS = ['name', 'email_from_name', 'email_from_email', 'email_reply_to'] as const;
type TextName = (typeof TEXTS)[number];

/** The error of a list may be of one of its items, such as `test_email_recipients.0`. */
const RECIPIENTS = Array.from({ length: 6 }, (_, index) =>
  index === 0 ? 'test_email_recipients' : `test_email_recipients.${index - 1}`,
);

interface Changes extends Record<TextName, string | null> {
  test_email_recipients: string[];
}

/** The name of the account, and the sender of messages that name none. */
export function AccountSettings({ account }: { account: Schemas['Account'] }) {
  const reloadSignedIn = useReloadSignedIn();
  const kept = useKept('account');
  const save = useAction({
    work: (body: Changes) => call(() => api.PATCH('/v1/my/account', { body })),
    done: 'Account saved.',
    refresh: ['account'],
    fields: [...TEXTS, ...RECIPIENTS],
    onDone: () => void reloadSignedIn(),
    kept,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: TextName) => formText(form, name).trim() || null;
    save.run({
      name: text('name'),
      email_from_name: text('email_from_name'),
      email_from_email: text('email_from_email'),
      email_reply_to: text('email_reply_to'),
      test_email_recipients: addressLines(formText(form, 'test_email_recipients')),
    });
  };
  const input = (name: TextName, type = 'text') => (
    <TextInput name={name} type={type} defaultValue={account[name] ?? ''} />
  );
  return (
    <Card title="Settings">
      <KeptForm kept={kept} onSubmit={submit}>
        {save.fault !== null && <Notice tone="bad">{save.fault}</Notice>}
        <Field label="Name of the account" error={save.errorOf('name')}>
          {input('name')}
        </Field>
        <Field
          label="Sender name"
          hint="For messages that name no sender."
          error={save.errorOf('email_from_name')}
        >
          {input('email_from_name')}
        </Field>
        <Field
          label="Sender address"
          hint="It must be at a verified domain of this brand."
          error={save.errorOf('email_from_email')}
        >
          {input('email_from_email', 'email')}
        </Field>
        <Field label="Reply to" error={save.errorOf('email_reply_to')}>
          {input('email_reply_to', 'email')}
        </Field>
        <Field
          label="Recipients of tests"
          hint="At most five addresses, one per line."
          error={RECIPIENTS.flatMap((path) => save.errorOf(path))}
        >
          <TextArea
            name="test_email_recipients"
            rows={3}
            defaultValue={account.test_email_recipients.join('\n')}
          />
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
