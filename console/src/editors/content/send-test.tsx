import { useState, type ReactNode } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { ActionForm } from '../../ui/action-form.tsx';
import { useBrand } from '../../shell/brand.ts';
import { useAction } from '../../ui/action.ts';
import { Button, type ButtonProps } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { BrandLink } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';
import type { Unsaved } from './checked.ts';
import type { Content } from './content.ts';

/** What a test needs besides its content. */
export interface TestRequest {
  to?: string[];
  contact_id?: number;
}

interface TestProps {
  channel: 'email' | 'sms';
  /** Whose data it has; null: sample data. */
  contactId: number | null;
  /** Sends it. @param key the Idempotency-Key */
  send: (request: TestRequest, key: string) => Promise<Schemas['SentTest']>;
  /** More fields of the form. */
  children?: ReactNode;
}

/** Sends a content that is not saved to the user and other users of the account. */
export function SendUnsavedTest({
  value,
  unsaved,
  contactId,
}: {
  value: Content;
  unsaved: Unsaved;
  contactId: number | null;
}) {
  const { from_name, from_email, reply_to } = value;
  const sender = unsaved.channel === 'email' ? { from_name, from_email, reply_to } : {};
  const send = (request: TestRequest, key: string) =>
    call(() =>
      api.POST('/v1/my/templates/send_test', {
        params: { header: { 'Idempotency-Key': key } },
        body: { ...unsaved, ...sender, ...request },
      }),
    );
  return <SendTestButton channel={unsaved.channel ?? 'email'} contactId={contactId} send={send} />;
}

/** A button that asks where a test should go. */
export function SendTestButton({ kind = 'secondary', ...props }: TestProps & { kind?: ButtonProps['kind'] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button kind={kind} onClick={() => setOpen(true)}>
        Send a test
      </Button>
      {isOpen && (
        <Dialog open onClose={() => setOpen(false)} title="Send a test">
          <SendTestForm {...props} onClose={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  );
}

const addressesOf = (text: string) => text.split(/[\s,;]+/).filter((address) => address !== '');

function SendTestForm({ channel, contactId, send, children, onClose }: TestProps & { onClose: () => void }) {
  const action = useAction({
    work: send,
    done: 'The test is on its way.',
    refresh: ['messages'],
    fields: ['to'],
  });
  const what = channel === 'email' ? 'addresses of users and the test recipients' : 'mobile numbers of users';
  const { user } = useBrand().signedIn;
  const own = channel === 'email' ? user.email : '';
  const submit = (form: FormData) => {
    const to = addressesOf(formText(form, 'to'));
    action.run({
      ...(to.length > 0 ? { to } : {}),
      ...(contactId === null ? {} : { contact_id: contactId }),
    });
  };
  return (
    <ActionForm
      action={action}
      kept={null}
      onSubmit={submit}
      submit="Send"
      close={{ label: 'Close', onClick: onClose }}
    >
      <Field
        label="To"
        hint={`${own === '' ? 'If it is empty, the test goes to you. ' : ''}It can go to the ${what} of the account.`}
        error={action.errorOf('to')}
      >
        <TextInput name="to" autoFocus defaultValue={own} />
      </Field>
      {children}
      {action.result && (
        <Notice tone="good" title="Sent">
          {action.result.messages.map((message) => (
            <BrandLink key={message.id} to={`/messages/${message.id}`}>
              Message {message.id} to {message.to}
            </BrandLink>
          ))}
        </Notice>
      )}
    </ActionForm>
  );
}
