import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useAudienceNames } from '../../../api/audience.ts';
import { api, callWithTag, type Schemas } from '../../../api/client.ts';
import { UnpublishedMark } from '../../../editors/draft/unpublished.tsx';
import { FilterBuilder } from '../../../editors/filters/filter-builder.tsx';
import { areComplete } from '../../../editors/filters/values.ts';
import { Button } from '../../../ui/button.tsx';
import { countText } from '../../../ui/details.tsx';
import { Field, Select } from '../../../ui/field.tsx';
import { BrandLink } from '../../../ui/links.tsx';
import { Notice } from '../../../ui/notice.tsx';
import { useSettled } from '../../../ui/settled.ts';
import { useSegmentPreview } from '../../segments/preview.ts';
import type { Campaign } from '../campaign-frame.tsx';
import { errorsBelow, type FieldErrors } from './check.ts';
import { audienceFilters, reachableFilters, type Audience } from './content.ts';
import { EditorPart } from './editor-part.tsx';
import { Excluded } from './excluded.tsx';
import { NewSegmentDialog } from './new-segment-dialog.tsx';

const NONE = { value: '', label: 'None' };

/** All messages about one of the two lists of exclusions, whose paths end with a position. */
const messagesBelow = (errors: Record<string, readonly string[]>, path: string) => [
  ...(errors[path] ?? []),
  ...Object.values(errorsBelow(errors, path)).flat(),
];

/** The audience of the campaign. */
export function AudiencePart({
  audience,
  channel,
  errors: all,
  onChange,
}: {
  audience: Audience;
  channel: Campaign['channel'];
  errors: FieldErrors;
  onChange: (next: Audience) => void;
}) {
  const { lists, segments } = useAudienceNames();
  const [creates, setCreates] = useState(false);
  const errors = errorsBelow(all, 'trigger_attributes');
  const { contact_list_id: listId, segment_id: segmentId, data } = audience;
  const exclude = (part: Audience['data']) => onChange({ ...audience, data: { ...data, ...part } });
  return (
    <EditorPart name="audience" actions={<Button onClick={() => setCreates(true)}>New segment</Button>}>
      <div className="grid">
        <Field label="List" error={errors.contact_list_id}>
          <Select
            value={String(listId ?? '')}
            options={[NONE, ...lists]}
            onChange={(event) =>
              onChange({ ...audience, contact_list_id: Number(event.target.value) || null })
            }
          />
        </Field>
        <Field
          label="Segment"
          hint="If a list is chosen as well, only contacts who are in both get it."
          error={errors.segment_id}
        >
          <Select
            value={String(segmentId ?? '')}
            options={[NONE, ...segments]}
            onChange={(event) => onChange({ ...audience, segment_id: Number(event.target.value) || null })}
          />
        </Field>
        <Excluded
          label="Excluded lists"
          choices={lists}
          ids={data.exclude_list_ids ?? []}
          errors={messagesBelow(errors, 'data.exclude_list_ids')}
          onChange={(ids) => exclude({ exclude_list_ids: ids })}
        />
        <Excluded
          label="Excluded segments"
          choices={segments}
          ids={data.exclude_segment_ids ?? []}
          errors={messagesBelow(errors, 'data.exclude_segment_ids')}
          onChange={(ids) => exclude({ exclude_segment_ids: ids })}
        />
      </div>
      <AudienceFilters
        filters={data.filters ?? []}
        errors={errors}
        onChange={(filters) => {
          const { filters: _, ...others } = data;
          onChange({ ...audience, data: filters.length === 0 ? others : { ...others, filters } });
        }}
      />
      <AudienceCount audience={audience} channel={channel} />
      {segmentId !== null && <SegmentState id={segmentId} />}
      {creates && (
        <NewSegmentDialog
          onClose={() => setCreates(false)}
          onCreated={({ id }) => onChange({ ...audience, segment_id: id })}
        />
      )}
    </EditorPart>
  );
}

/** Conditions that contacts must match besides being in the list and the segment, such as what they did with a campaign. */
function AudienceFilters({
  filters,
  errors,
  onChange,
}: {
  filters: readonly Schemas['Filter'][];
  errors: Record<string, readonly string[]>;
  onChange: (next: Schemas['Filter'][]) => void;
}) {
  const isComplete = areComplete(filters, 'segment');
  return (
    <fieldset className="filters-of-step">
      <legend>Only contacts who match</legend>
      <FilterBuilder
        label="Filters"
        filters={filters}
        onChange={onChange}
        scope="segment"
        errors={isComplete ? errorsBelow(errors, 'data.filters') : {}}
      />
      {(isComplete ? (errors['data.filters'] ?? []) : []).map((text) => (
        <p key={text} className="field-error" role="alert">
          {text}
        </p>
      ))}
    </fieldset>
  );
}

/** Warnings about a segment: it selects all contacts, or it has changes that are not published yet. */
function SegmentState({ id }: { id: number }) {
  const { data } = useQuery({
    queryKey: ['segments', id],
    queryFn: ({ signal }) =>
      callWithTag(() => api.GET('/v1/my/segments/{id}', { params: { path: { id } }, signal })),
  });
  if (!data) return null;
  return (
    <>
      {data.data.filters.length === 0 && (
        <Notice tone="warn" title="The segment contains all contacts">
          It has no published filters. <BrandLink to={`/segments/${id}/edit`}>Edit the segment</BrandLink>
        </Notice>
      )}
      <p>
        <UnpublishedMark kind="segments" id={id} />
      </p>
    </>
  );
}

/** How many contacts the audience has now, and how many of them get messages. */
export function AudienceCount({ audience, channel }: { audience: Audience; channel: Campaign['channel'] }) {
  const isComplete = areComplete(audience.data.filters ?? [], 'segment');
  const filters = useSettled(isComplete ? audienceFilters(audience) : null);
  const all = useSegmentPreview(filters, { live: true });
  const reached = useSegmentPreview(filters && [...filters, ...reachableFilters(channel)]);
  if (!isComplete) return <p className="muted">Complete the filters first.</p>;
  if (!filters) return <p className="muted">Choose a list or a segment, or add a filter.</p>;
  const text = () => {
    if (all.isError) return 'The contacts cannot be counted now.';
    if (!all.data) return 'Counting…';
    const { count, slow_because: slow } = all.data;
    if (count === null) return `Too slow to count: ${slow ?? 'too many contacts'}.`;
    const contacts = `${countText(count)} contact${count === 1 ? '' : 's'}`;
    const subscribed = reached.data?.count ?? null;
    if (subscribed === null) return contacts;
    return `${contacts}, ${countText(subscribed)} of them subscribed to ${channel === 'email' ? 'email' : 'SMS'}`;
  };
  return (
    <>
      <p role="status">
        <strong>{text()}</strong>
      </p>
      {all.data?.warnings.map(({ path, message }) => (
        <p key={path} className="hint">
          {message}
        </p>
      ))}
    </>
  );
}
