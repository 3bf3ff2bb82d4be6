import { useQuery } from '@tanstack/react-query';
import { useAudienceNames } from '../../api/audience.ts';
import { api, callWithTag, type Schemas } from '../../api/client.ts';
import { DraftBar } from '../../editors/draft/draft-bar.tsx';
import type { Draft } from '../../editors/draft/draft.ts';
import { useDraft } from '../../editors/draft/use-draft.ts';
import { useAction } from '../../ui/action.ts';
import { FilterList } from '../../ui/filter-list.tsx';
import { BrandLink, useId } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { Notice } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { segmentForm, type SegmentContent } from './read-draft.ts';
import { SegmentForm, useSelection } from './segment-form.tsx';

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
  const draft = useDraft({ kind: 'segments', id }, published, segmentForm);
  const { content, change } = draft;
  const publish = usePublish(id, draft);
  const selection = useSelection(content.filters);
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
        disabled={!selection.isComplete || selection.isRefused}
        showVersion={(version) => <Version content={version} />}
      />
      {publish.fault !== null && <Notice tone="bad">{publish.fault}</Notice>}
      <SegmentForm {...{ content, change, selection }} nameErrors={publish.errorOf('name')}>
        {content.filters.length === 0 && (
          <p className="muted">Without filters, all contacts are in the segment.</p>
        )}
      </SegmentForm>
    </>
  );
}

function Version({ content: { name, filters } }: { content: SegmentContent }) {
  const names = useAudienceNames();
  return (
    <>
      <p>{name}</p>
      <FilterList filters={filters} names={names} />
    </>
  );
}
