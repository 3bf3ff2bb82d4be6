import { useState, type SubmitEvent } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';
import { useContactChoice } from '../../ui/contact-choice.tsx';

type Template = Schemas['Template'];

/** A template of a campaign or flow is deleted with it, so only the brand's own can be deleted here. */
export function TemplateActions({ template }: { template: Template }) {
  const isOwn = template.campaign_id === null && template.flow_id === null;
  return (
    <>
      <SendTestButton template={template} />
      <DuplicateButton template={template} />
      {isOwn && <DeleteButton template={template} />}
    </>
  );
}

function DuplicateButton({ template: { id } }: { template: Template }) {
  const open = useOpen();
  const { run, busy } = useAction({
    work: (_, key) =>
      call(() =>
        api.POST('/v1/my/templates/{id}/duplicate', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
        }),
      ),
    done: 'This is the copy.',
    refresh: ['templates'],
    onDone: (copy) => open(`/templates/${copy.id}`),
  });
  return (
    <Button busy={busy} onClick={() => run()}>
      Duplicate
    </Button>
  );
}

function DeleteButton({ template: { id } }: { template: Template }) {
  const open = useOpen();
  const { run, busy } = useAction({
    work: () => call(() => api.DELETE('/v1/my/templates/{id}', { params: { path: { id } } })),
    done: 'The template is deleted.',
    // The page is left, and must not ask for what is gone.
    refresh: [],
    onDone: () => open('/templates'),
  });
  return (
    <ConfirmButton label="Delete" title="Delete this template?" busy={busy} onConfirm={run}>
      <p>Campaigns and flows keep their copies. Messages that were sent keep their content.</p>
    </ConfirmButton>
  );
}

function SendTestButton({ template }: { template: Template }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <Button kind="primary" onClick={() => setOpen(true)}>
        Send a test
      </Button>
      {open && <SendTestDialog template={template} onClose={() => setOpen(false)} />}
    </>
  );
}

const addressesOf = (text: string) => text.split(/[\s,;]+/).filter((address) => address !== '');

function SendTestDialog({ template, onClose }: { template: Template; onClose: () => void }) {
  const { id, channel } = template;
  const { contactId, field } = useContactChoice('With the data of this contact');
  const action = useAction({
    work: (to: string[], key) =>
      call(() =>
        api.POST('/v1/my/templates/{id}/send_test', {
          params: { path: { id }, header: { 'Idempotency-Key': key } },
          body: {
            ...(to.length > 0 ? { to } : {}),
            ...(contactId === null ? {} : { contact_id: contactId }),
          },
        }),
      ),
    done: 'The test is on its way.',
    refresh: ['messages'],
    fields: ['to'],
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    action.run(addressesOf(formText(new FormData(event.currentTarget), 'to')));
  };
  const what = channel === 'email' ? 'addresses of users and the test recipients' : 'mobile numbers of users';
  return (
    <Dialog open onClose={onClose} title="Send a test">
      <form onSubmit={submit}>
        <Field
          label="To"
          hint={`Without an address, it goes to you. Allowed are the ${what} of the account.`}
          error={action.errorOf('to')}
        >
          <TextInput name="to" autoFocus />
        </Field>
        {field}
        {action.fault !== null && <Notice tone="bad">{action.fault}</Notice>}
        {action.result && (
          <Notice tone="good" title="Sent">
            {action.result.messages.map((message) => (
              <BrandLink key={message.id} to={`/messages/${message.id}`}>
                Message {message.id} to {message.to}
              </BrandLink>
            ))}
          </Notice>
        )}
        <div className="actions">
          <Button type="submit" kind="primary" busy={action.busy}>
            Send
          </Button>
          <Button onClick={onClose}>Close</Button>
        </div>
      </form>
    </Dialog>
  );
}
