import { useQuery } from '@tanstack/react-query';
import { api, call, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { isUnfinished } from '../../api/work.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { Card, DetailList, Progress, StatusBadge, Time } from '../../ui/details.tsx';
import { useDownload } from '../../ui/download.ts';
import { useId } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { Notice } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { WorkflowLink } from '../../ui/temporal-link.tsx';

type Export = Schemas['Export'];

const ERRORS: Record<NonNullable<Export['error']>, string> = {
  quota_exceeded:
    'The export files of the account use all the space they may. They are deleted after 7 days.',
  timed_out: 'The export was not complete after a day. Export fewer rows.',
  too_slow: 'The filters take too long. Combine them with a list or a period.',
  invalid_filters: 'The list or segment of the filters no longer exists.',
  internal_error: 'The service failed for a day. Export again.',
};

export function ExportPage() {
  const id = useId('exportId');
  const query = useQuery({
    queryKey: ['exports', id],
    queryFn: ({ signal }) => call(() => api.GET('/v1/my/exports/{id}', { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (isUnfinished(state.data) ? POLL_MS : false),
  });
  return (
    <QueryView query={query}>
      {(exported) => (
        <>
          <PageHeader title={`Export of ${exported.resource}`} actions={<Actions exported={exported} />}>
            <StatusBadge status={exported.status} />
          </PageHeader>
          <State exported={exported} />
        </>
      )}
    </QueryView>
  );
}

function Actions({ exported: { id, resource, status, url } }: { exported: Export }) {
  const path = { id };
  const download = useDownload(`${resource}-${id}.csv`, () =>
    api.GET('/v1/my/exports/{id}/file', { params: { path }, parseAs: 'blob' }),
  );
  const cancel = useAction({
    work: () => call(() => api.POST('/v1/my/exports/{id}/cancel', { params: { path } })),
    done: 'Export canceled.',
    refresh: ['exports'],
  });
  return (
    <>
      {url !== null && (
        <Button kind="primary" busy={download.busy} onClick={() => download.run()}>
          Download
        </Button>
      )}
      {isUnfinished({ status }) && (
        <Button busy={cancel.busy} onClick={() => cancel.run()}>
          Cancel
        </Button>
      )}
      <WorkflowLink id={`export/${id}`} />
    </>
  );
}

function State({ exported }: { exported: Export }) {
  const { status, total_rows: total, url, error } = exported;
  return (
    <Card title="Progress">
      {error !== null && <Notice tone="bad">{ERRORS[error]}</Notice>}
      {status === 'queued' && <p>The export begins when fewer than two others are being written.</p>}
      {status === 'processing' && total === null && <p>The rows are being counted.</p>}
      {total !== null && <Progress done={exported.processed_rows} total={total} label="Rows written" />}
      {isUnfinished(exported) && <p className="muted">You may close this tab: the export goes on.</p>}
      {status === 'completed' && url === null && (
        <Notice>
          The file was deleted because it was 7 days old or a contact in it was deleted. Export again to get
          the rows as they are now.
        </Notice>
      )}
      <DetailList
        items={[
          ...Object.entries(exported.filters).map(
            ([name, value]) => [`Filter: ${name.replaceAll('_', ' ')}`, String(value)] as const,
          ),
          ['Created', <Time key="created" at={exported.created_at} full />],
          ['Started', <Time key="started" at={exported.started_at} full />],
          ['Finished', <Time key="finished" at={exported.finished_at} full />],
          ['File kept until', <Time key="expires" at={exported.expires_at} full />],
        ]}
      />
    </Card>
  );
}
