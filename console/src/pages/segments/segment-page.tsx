import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useAudienceNames } from '../../api/audience.ts';
import { api, call, callPage, callWithTag, type Schemas } from '../../api/client.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { JsonBlock } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Card } from '../../ui/details.tsx';
import { FilterList } from '../../ui/filter-list.tsx';
import { BrandLink, useId, useOpen } from '../../ui/links.tsx';
import { PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { NewCampaign } from '../campaigns/new-campaign.tsx';
import { ContactTable } from '../contacts/contact-table.tsx';
import { ExportButton } from '../exports/export-button.tsx';
import { SegmentCount } from './segment-count.tsx';

type Segment = Schemas['Segment'];

export function SegmentPage() {
  const id = useId('segmentId');
  const query = useQuery({
    queryKey: ['segments', id],
    queryFn: ({ signal }) =>
      callWithTag(() => api.GET('/v1/my/segments/{id}', { params: { path: { id } }, signal })),
  });
  return (
    <QueryView query={query}>
      {({ data: segment, etag }) => (
        <>
          <PageHeader title={segment.name} actions={<Actions segment={segment} etag={etag} />}>
            <p className="muted">
              Contacts now: <SegmentCount filters={segment.filters} live />
            </p>
          </PageHeader>
          <Filters segment={segment} />
          <Members segmentId={id} />
        </>
      )}
    </QueryView>
  );
}

function Actions({ segment, etag }: { segment: Segment; etag: string }) {
  const open = useOpen();
  const remove = useAction({
    work: () =>
      call(() =>
        api.DELETE('/v1/my/segments/{id}', {
          params: { path: { id: segment.id }, header: { 'If-Match': etag } },
        }),
      ),
    done: 'Segment deleted. Its contacts stay.',
    refresh: [],
    onDone: () => open('/segments'),
  });
  return (
    <>
      <NewCampaign segmentId={segment.id} />
      <ExportButton resource="contacts" filters={{ segment_id: String(segment.id) }} />
      <Button onClick={() => open(`/segments/${segment.id}/edit`)}>Edit</Button>
      <ConfirmButton
        label="Delete"
        title={`Delete the segment ${segment.name}?`}
        busy={remove.busy}
        onConfirm={() => remove.run()}
      >
        <p>Its contacts stay. The segment cannot be restored.</p>
      </ConfirmButton>
    </>
  );
}

function Filters({ segment }: { segment: Segment }) {
  const names = useAudienceNames();
  const [asJson, setAsJson] = useState(false);
  return (
    <Card
      title="Contacts that match all of these"
      actions={
        <Button kind="quiet" aria-expanded={asJson} onClick={() => setAsJson(!asJson)}>
          {asJson ? 'Hide JSON' : 'Show JSON'}
        </Button>
      }
    >
      <FilterList filters={segment.filters} names={names} />
      {asJson && <JsonBlock value={segment.filters} />}
    </Card>
  );
}

function Members({ segmentId }: { segmentId: number }) {
  const list = useListSearch([]);
  const query = useQuery({
    queryKey: ['segments', segmentId, 'contacts', list.query],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/segments/{id}/contacts', {
          params: { path: { id: segmentId }, query: list.query },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <div className="actions">
        <h2>Contacts</h2>
        <span className="grow" />
        <BrandLink to="/contacts" search={{ segment_id: String(segmentId) }}>
          Filter these contacts, or act on them
        </BrandLink>
      </div>
      <QueryView query={query}>
        {({ rows }) => (
          <ContactTable label="Contacts of the segment" rows={rows} empty={<p>No contact matches now.</p>} />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}
