import { useQuery } from '@tanstack/react-query';
import type { SubmitEvent } from 'react';
import { useListChoices, useSegmentChoices } from '../../api/audience.ts';
import { api, call, callPage } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { useOpen } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';
import { useRequestKey } from '../../ui/request-key.ts';
import { templateName } from '../templates/owner-link.tsx';

/** The newest templates; others are chosen by their id through the API. */
const MAX_CHOICES = 100;
const NONE = { value: '', label: 'None' };

function useTemplateChoices() {
  const query = { limit: MAX_CHOICES, summary: 'true' } as const;
  const { data } = useQuery({
    queryKey: ['templates', query],
    queryFn: ({ signal }) => callPage(() => api.GET('/v1/my/templates', { params: { query }, signal })),
  });
  return data?.rows ?? [];
}

interface Wanted {
  name: string;
  listId: number | null;
  segmentId: number | null;
  templateId: number | null;
}

const idOf = (form: FormData, name: string) => Number(formText(form, name)) || null;

/** Makes a draft of a name, an audience and a template. */
export function CreateCampaignDialog({ onClose }: { onClose: () => void }) {
  const open = useOpen();
  const templates = useTemplateChoices();
  const [lists, segments] = [useListChoices(), useSegmentChoices()];
  const keyOf = useRequestKey();
  const action = useAction({
    work: (wanted: Wanted) =>
      call(() =>
        api.POST('/v1/my/campaigns', {
          params: { header: { 'Idempotency-Key': keyOf(wanted) } },
          body: {
            name: wanted.name,
            channel: templates.find(({ id }) => id === wanted.templateId)?.channel ?? 'email',
            status: 'draft',
            trigger_attributes: { contact_list_id: wanted.listId, segment_id: wanted.segmentId },
            ...(wanted.templateId === null
              ? {}
              : { template_attributes: { template_id: wanted.templateId } }),
          },
        }),
      ),
    done: 'The campaign is a draft now.',
    refresh: ['campaigns'],
    fields: ['name'],
    onDone: ({ id }) => open(`/campaigns/${id}/content`),
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = formText(form, 'name');
    const ids = { listId: idOf(form, 'list'), segmentId: idOf(form, 'segment') };
    action.run({ name, ...ids, templateId: idOf(form, 'template') });
  };
  return (
    <Dialog open onClose={onClose} title="New campaign">
      <form onSubmit={submit}>
        <Field label="Name" error={action.errorOf('name')}>
          <TextInput name="name" required autoFocus />
        </Field>
        <Field label="List">
          <Select name="list" options={[NONE, ...lists]} />
        </Field>
        <Field label="Segment" hint="With a list too, only contacts who are in both get it.">
          <Select name="segment" options={[NONE, ...segments]} />
        </Field>
        <Field
          label="Template"
          hint="It is copied, so later changes of the template do not change the campaign."
        >
          <Select
            name="template"
            options={[
              NONE,
              ...templates.map((template) => ({ value: String(template.id), label: templateName(template) })),
            ]}
          />
        </Field>
        {action.fault !== null && <Notice tone="bad">{action.fault}</Notice>}
        <div className="actions">
          <Button type="submit" kind="primary" busy={action.busy}>
            Create a draft
          </Button>
          <Button onClick={onClose}>Close</Button>
        </div>
      </form>
    </Dialog>
  );
}
