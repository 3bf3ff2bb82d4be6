import { useQuery } from '@tanstack/react-query';
import { useState, type SubmitEvent } from 'react';
import { api, call, callPage } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field, Select, TextInput } from '../../ui/field.tsx';
import { formText } from '../../ui/form.ts';
import { useOpen } from '../../ui/links.tsx';
import { Notice } from '../../ui/notice.tsx';

/** The most that a list of choices shows; more are chosen by their id through the API. */
const MAX_CHOICES = 100;
const NONE = { value: '', label: 'None' };

const optionsOf = (rows: readonly { id: number; name: string | null }[] | undefined) => [
  NONE,
  ...(rows ?? []).map(({ id, name }) => ({ value: String(id), label: `${name || 'No name'} (${id})` })),
];

function useChoices() {
  const query = { limit: MAX_CHOICES };
  const lists = useQuery({
    queryKey: ['lists', query],
    queryFn: ({ signal }) => callPage(() => api.GET('/v1/my/lists', { params: { query }, signal })),
  });
  const segments = useQuery({
    queryKey: ['segments', query],
    queryFn: ({ signal }) => callPage(() => api.GET('/v1/my/segments', { params: { query }, signal })),
  });
  const templates = useQuery({
    queryKey: ['templates', query],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/templates', { params: { query: { ...query, summary: 'true' } }, signal }),
      ),
  });
  return { lists: lists.data?.rows, segments: segments.data?.rows, templates: templates.data?.rows };
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
  const { lists, segments, templates } = useChoices();
  const [key] = useState(() => crypto.randomUUID());
  const action = useAction({
    work: ({ name, listId, segmentId, templateId }: Wanted) =>
      call(() =>
        api.POST('/v1/my/campaigns', {
          params: { header: { 'Idempotency-Key': key } },
          body: {
            name,
            channel: templates?.find(({ id }) => id === templateId)?.channel ?? 'email',
            status: 'draft',
            trigger_attributes: { contact_list_id: listId, segment_id: segmentId },
            ...(templateId === null ? {} : { template_attributes: { template_id: templateId } }),
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
          <Select name="list" options={optionsOf(lists)} />
        </Field>
        <Field label="Segment" hint="With a list too, only contacts who are in both get it.">
          <Select name="segment" options={optionsOf(segments)} />
        </Field>
        <Field
          label="Template"
          hint="It is copied, so later changes of the template do not change the campaign."
        >
          <Select name="template" options={optionsOf(templates)} />
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
