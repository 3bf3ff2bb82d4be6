import { api, call, type Schemas } from '../../api/client.ts';
import { SendTestButton, type TestRequest } from '../../editors/content/send-test.tsx';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { useContactChoice } from '../../ui/contact-choice.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';

type Template = Schemas['Template'];

/** A template of a campaign or flow is deleted with it, so only the brand's own can be deleted here. */
export function TemplateActions({ template }: { template: Template }) {
  const isOwn = template.campaign_id === null && template.flow_id === null;
  return (
    <>
      {isOwn && (
        <BrandLink to={`/templates/${template.id}/edit`} className="button primary">
          Edit
        </BrandLink>
      )}
      <SendTest template={template} />
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
    // The user leaves the page, which must not load what was deleted.
    refresh: [],
    onDone: () => open('/templates'),
  });
  return (
    <ConfirmButton label="Delete" title="Delete this template?" busy={busy} onConfirm={run}>
      <p>Campaigns and flows keep their copies. Messages that were sent keep their content.</p>
    </ConfirmButton>
  );
}

function SendTest({ template: { id, channel } }: { template: Template }) {
  const { contactId, field } = useContactChoice('With the data of this contact');
  const send = (body: TestRequest, key: string) =>
    call(() =>
      api.POST('/v1/my/templates/{id}/send_test', {
        params: { path: { id }, header: { 'Idempotency-Key': key } },
        body,
      }),
    );
  return (
    <SendTestButton kind="primary" channel={channel} contactId={contactId} send={send}>
      {field}
    </SendTestButton>
  );
}
