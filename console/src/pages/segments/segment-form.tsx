import { useState, type SubmitEvent } from 'react';
import { useListChoices, useSegmentChoices } from '../../api/audience.ts';
import { api, call, type Schemas } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { countText } from '../../ui/facts.tsx';
import { Field, TextArea, TextInput } from '../../ui/field.tsx';
import { FilterList } from '../../ui/filter-list.tsx';
import { formText } from '../../ui/form.ts';
import { isObject, parseJson } from '../../ui/json-text.ts';
import { Notice } from '../../ui/notice.tsx';
import { contactName } from '../contacts/contact-text.ts';
import { useSegmentPreview } from './segment-count.tsx';

type Segment = Schemas['Segment'];
type Filters = Schemas['Filter'][];

const EXAMPLE: Filters = [{ name: 'data.plan', predicate: 'in', value: ['pro', 'team'] }];

/** The API checks the filters themselves; here they only have to be a list of objects. */
function parseFilters(text: string): { filters: Filters } | { fault: string } {
  const parsed = parseJson(text);
  if (parsed.fault !== undefined) return { fault: parsed.fault };
  if (!Array.isArray(parsed.value) || !parsed.value.every(isObject))
    return { fault: 'This must be a JSON array of filters.' };
  return { filters: parsed.value as unknown as Filters };
}

/** Creates a segment, or changes one: filters as JSON, with their meaning and count before they are saved. */
export function SegmentForm({
  segment,
  etag,
  onDone,
  onCancel,
}: {
  segment?: Segment;
  /** So that a change by someone else is not overwritten. */
  etag?: string | null;
  onDone: (saved: Segment) => void;
  onCancel: () => void;
}) {
  const [text, setText] = useState(() => JSON.stringify(segment?.filters ?? EXAMPLE, null, 2));
  const [previewed, setPreviewed] = useState<Filters | null>(segment?.filters ?? null);
  const parsed = parseFilters(text);
  const fault = 'fault' in parsed ? parsed.fault : null;
  const filters = 'filters' in parsed ? parsed.filters : null;
  const save = useAction({
    work: (body: { name: string; filters: Filters }, key) =>
      segment
        ? call(() =>
            api.PATCH('/v1/my/segments/{id}', {
              params: { path: { id: segment.id }, header: etag ? { 'If-Match': etag } : {} },
              body,
            }),
          )
        : call(() => api.POST('/v1/my/segments', { params: { header: { 'Idempotency-Key': key } }, body })),
    done: 'Segment saved.',
    refresh: ['segments'],
    fields: ['name', 'filters'],
    onDone,
  });
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const name = formText(new FormData(event.currentTarget), 'name');
    if (filters) save.run({ name, filters });
  };
  return (
    <form onSubmit={submit}>
      {save.fault !== null && <Notice tone="bad">{save.fault}</Notice>}
      <Field label="Name" error={save.errorOf('name')}>
        <TextInput name="name" required defaultValue={segment?.name ?? ''} />
      </Field>
      <Field
        label="Filters"
        hint={
          <>
            A JSON array, as <a href="/docs">the API</a> takes it. A contact must match all of them.
          </>
        }
        error={fault ?? save.errorOf('filters')}
      >
        <TextArea
          rows={12}
          spellCheck={false}
          className="mono"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </Field>
      <Preview filters={previewed} />
      <div className="actions">
        <Button type="submit" kind="primary" busy={save.busy} disabled={!filters}>
          Save
        </Button>
        <Button disabled={!filters} onClick={() => setPreviewed(filters)}>
          Preview
        </Button>
        <Button onClick={onCancel}>Cancel</Button>
      </div>
    </form>
  );
}

function Preview({ filters }: { filters: Filters | null }) {
  const names = { lists: useListChoices(), segments: useSegmentChoices() };
  const { data, error } = useSegmentPreview(filters);
  if (!filters) return null;
  if (error) return <Notice tone="bad">{messageOf(error)}</Notice>;
  return (
    <Notice title={previewTitle(data)}>
      <FilterList filters={filters} names={names} />
      {data && data.sample.length > 0 && (
        <p className="muted">Such as {data.sample.slice(0, 5).map(contactName).join(', ')}.</p>
      )}
    </Notice>
  );
}

function previewTitle(preview: Schemas['SegmentPreview'] | undefined): string {
  if (!preview) return 'Counting…';
  if (preview.count === null) return `Too slow to count: ${preview.slow_because ?? 'too many contacts'}`;
  return preview.count === 1 ? '1 contact matches' : `${countText(preview.count)} contacts match`;
}
