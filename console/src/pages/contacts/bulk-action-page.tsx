import { useQuery } from '@tanstack/react-query';
import { useAudienceNames, useListChoices } from '../../api/audience.ts';
import { labelOf } from '../../api/choices.ts';
import { api, call, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { isUnfinished } from '../../api/work.ts';
import { useAction } from '../../ui/action.ts';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Card, countText, DetailList, Progress, StatusBadge, Time } from '../../ui/details.tsx';
import { FilterList } from '../../ui/filter-list.tsx';
import { BrandLink, useId } from '../../ui/links.tsx';
import { PageHeader } from '../../ui/list-page.tsx';
import { Notice } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { WorkflowLink } from '../../ui/temporal-link.tsx';
import { actionTexts } from './bulk-action-text.ts';

type BulkAction = Schemas['BulkAction'];

const ERRORS: Record<NonNullable<BulkAction['error']>, string> = {
  list_deleted: 'A list that the action names was deleted. What was done until then stays.',
  too_slow: 'The filters take too long even for a few contacts. Combine them with a list, for example.',
  internal_error: 'The service failed for a day. What was done until then stays. Start the action again.',
};

export function BulkActionPage() {
  const id = useId('bulkActionId');
  const path = { id };
  const query = useQuery({
    queryKey: ['bulk_actions', id],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/contacts/bulk_actions/{id}', { params: { path }, signal })),
    refetchInterval: ({ state }) => (isUnfinished(state.data) ? POLL_MS : false),
  });
  const cancel = useAction({
    work: () => call(() => api.POST('/v1/my/contacts/bulk_actions/{id}/cancel', { params: { path } })),
    done: 'Canceled. What was done until now stays.',
    refresh: ['bulk_actions'],
  });
  return (
    <QueryView query={query}>
      {(action) => (
        <>
          <PageHeader
            title={`${actionTexts[action.action].label}${action.dry_run ? ' (count only)' : ''}`}
            actions={
              <>
                {isUnfinished(action) && (
                  <ConfirmButton
                    label="Cancel"
                    title="Cancel this bulk action?"
                    confirm="Cancel the action"
                    busy={cancel.busy}
                    onConfirm={() => cancel.run()}
                  >
                    <p>Contacts that are done stay as they are now. The others are not changed.</p>
                  </ConfirmButton>
                )}
                <WorkflowLink id={`bulk/${id}`} />
              </>
            }
          >
            <StatusBadge status={action.status} />
          </PageHeader>
          <State action={action} />
          <Card title="Contacts">
            <Audience action={action} />
          </Card>
        </>
      )}
    </QueryView>
  );
}

function State({ action }: { action: BulkAction }) {
  const { status, total_count: total, list_id: listId } = action;
  const lists = useListChoices();
  return (
    <Card title="Progress">
      {action.error !== null && <Notice tone="bad">{ERRORS[action.error]}</Notice>}
      {status === 'queued' && <p>An earlier bulk action of the account is not finished.</p>}
      {status === 'counting' && <p>The contacts are being counted.</p>}
      {total !== null && !action.dry_run && (
        <Progress done={action.processed_count} total={total} label="Contacts done" />
      )}
      {isUnfinished(action) && <p className="muted">You may close this tab: the action goes on.</p>}
      <DetailList
        items={[
          ...(listId === null
            ? []
            : [
                [
                  'List',
                  <BrandLink key="list" to={`/lists/${listId}`}>
                    {labelOf(lists, listId, `List ${listId}`)}
                  </BrandLink>,
                ] as const,
              ]),
          ['Contacts', total === null ? null : countText(total)],
          ['Changed', countText(action.changed_count)],
          ['Failed', countText(action.failed_count)],
          ['Created', <Time key="created" at={action.created_at} full />],
          ['Started', <Time key="started" at={action.started_at} full />],
          ['Finished', <Time key="finished" at={action.finished_at} full />],
        ]}
      />
    </Card>
  );
}

/** The contacts of the action, as the request named them. */
function Audience({ action }: { action: BulkAction }) {
  const names = useAudienceNames();
  const { all, filters, ...plain }: Schemas['BulkFilter'] = action.filter;
  if (all === true) return <p>All contacts of the brand.</p>;
  const nameOf = (key: string, value: unknown) => {
    const choices = { list_id: names.lists, segment_id: names.segments }[key] ?? [];
    return labelOf(choices, value);
  };
  return (
    <>
      {Object.keys(plain).length > 0 && (
        <DetailList
          items={Object.entries(plain).map(([key, value]) => [key.replaceAll('_', ' '), nameOf(key, value)])}
        />
      )}
      {filters && <FilterList filters={filters} names={names} />}
    </>
  );
}
