import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useListChoices, useSegmentChoices } from '../../api/audience.ts';
import { api, callWithTag, type Schemas } from '../../api/client.ts';
import { DraftBar } from '../../editors/draft/draft-bar.tsx';
import type { Draft } from '../../editors/draft/draft.ts';
import { useDraft } from '../../editors/draft/use-draft.ts';
import { FilterBuilder } from '../../editors/filters/filter-builder.tsx';
import { isComplete } from '../../editors/filters/values.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/facts.tsx';
import { Field, TextInput } from '../../ui/field.tsx';
import { FilterList } from '../../ui/filter-list.tsx';
import { BrandLink, useId } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { Notice } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { useSettled } from '../../ui/settled.ts';
import { FiltersJson } from './filters-json.tsx';
import type { Filters } from './preview.ts';
import { readDraft, type SegmentContent } from './read-draft.ts';
import { SegmentNow, useSegmentNow } from './segment-now.tsx';

type Segment = Schemas['Segment'];

const contentOf = ({ name, filters }: Segment): SegmentContent => ({ name, filters });

export function SegmentEditPage() {
  const id = useId('segmentId');
  const query = useQuery({
    queryKey: ['segments', id],
    queryFn: ({ signal }) =>
      callWithTag(() => api.GET('/v1/my/segments/{id}', { params: { path: { id } }, signal })),
  });
  return (
    <QueryView query={query}>
      {({ data: segment, etag }) => <SegmentEditor key={id} segment={segment} etag={etag} />}
    </QueryView>
  );
}

/** Publishes the segment, with the draft's content. */
function usePublish(id: number, draft: Draft<SegmentContent>) {
  return useAction({
    work: () =>
      draft.publish(async ({ name, filters }, tag) => {
        const { data, etag } = await callWithTag(() =>
          api.PATCH('/v1/my/segments/{id}', {
            params: { path: { id }, header: { 'If-Match': tag } },
            body: { name, filters: [...filters] },
          }),
        );
        return { content: contentOf(data), etag };
      }),
    done: 'Segment published.',
    refresh: ['segments'],
    fields: ['name'],
  });
}

function SegmentEditor({ segment, etag }: { segment: Segment; etag: string }) {
  const { id } = segment;
  const published = { content: contentOf(segment), etag, at: segment.updated_at };
  const draft = useDraft({ kind: 'segments', id }, published, readDraft);
  const { content, change } = draft;
  const publish = usePublish(id, draft);
  const complete = content.filters.every((filter) => isComplete(filter, 'segment'));
  const quiet = useSettled(content.filters);
  const counted = complete && quiet.every((filter) => isComplete(filter, 'segment')) ? quiet : null;
  const now = useSegmentNow(counted);
  const isRefused = Object.keys(now.errors).length > 0;
  return (
    <>
      <PageHeader
        title={content.name === '' ? segment.name : content.name}
        actions={<BrandLink to={`/segments/${id}`}>Back to the segment</BrandLink>}
      />
      <DraftBar
        draft={draft}
        onPublish={() => publish.run()}
        busy={publish.busy}
        disabled={!complete || isRefused}
        showVersion={(version) => <Version content={version} />}
      />
      {publish.fault !== null && <Notice tone="bad">{publish.fault}</Notice>}
      <div className="segment-editor">
        <Card>
          <Field label="Name" error={publish.errorOf('name')}>
            <TextInput
              value={content.name}
              onChange={({ target }) => change((before) => ({ ...before, name: target.value }))}
            />
          </Field>
          <FiltersCard
            filters={content.filters}
            onChange={(filters) => change((before) => ({ ...before, filters }))}
            errors={now.errors}
          />
        </Card>
        <SegmentNow now={now} filters={counted} />
      </div>
    </>
  );
}

function FiltersCard({
  filters,
  onChange,
  errors,
}: {
  filters: Filters;
  onChange: (next: Filters) => void;
  errors: Readonly<Record<string, readonly string[]>>;
}) {
  const [asJson, setAsJson] = useState(false);
  return (
    <>
      <div className="actions">
        <h2>Contacts that match all of these</h2>
        <span className="grow" />
        <Button kind="quiet" aria-pressed={asJson} onClick={() => setAsJson(!asJson)}>
          Edit as JSON
        </Button>
      </div>
      {filters.length === 0 && <p className="muted">Without filters, all contacts are in the segment.</p>}
      {asJson ? (
        <FiltersJson filters={filters} onChange={onChange} errors={errors} />
      ) : (
        <FilterBuilder
          label="Filters"
          scope="segment"
          filters={filters}
          onChange={onChange}
          errors={errors}
        />
      )}
    </>
  );
}

function Version({ content: { name, filters } }: { content: SegmentContent }) {
  const names = { lists: useListChoices(), segments: useSegmentChoices() };
  return (
    <>
      <p>{name}</p>
      <FilterList filters={filters} names={names} />
    </>
  );
}
