import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useAudienceNames } from '../../api/audience.ts';
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { isUnfinished } from '../../api/work.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { useDownload } from '../../ui/download.ts';
import { Card, centsText, countText, DetailList, Progress, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useId } from '../../ui/links.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { WorkflowLink } from '../../ui/temporal-link.tsx';
import { audienceText } from './audience-text.ts';

type Operation = Schemas['ValidationOperation'];
type Item = Schemas['ValidationItem'];

export function ValidationPage() {
  const id = useId('validationId');
  const names = useAudienceNames();
  const query = useQuery({
    queryKey: ['validation_operations', id],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/validation_operations/{id}', { params: { path: { id } }, signal })),
    refetchInterval: ({ state }) => (isUnfinished(state.data) ? POLL_MS : false),
  });
  return (
    <QueryView query={query}>
      {(operation) => (
        <>
          <PageHeader
            title={`Validation: ${audienceText(operation.audience, names)}`}
            actions={<Actions operation={operation} />}
          >
            <StatusBadge status={operation.status} />
          </PageHeader>
          <State operation={operation} />
          <Items operation={operation} />
        </>
      )}
    </QueryView>
  );
}

function Actions({ operation }: { operation: Operation }) {
  const path = { id: operation.id };
  const download = useDownload(`validation-${operation.id}.csv`, () =>
    api.GET('/v1/my/validation_operations/{id}/items', {
      params: { path, query: { format: 'csv' } },
      parseAs: 'blob',
    }),
  );
  const cancel = useAction({
    work: () => call(() => api.POST('/v1/my/validation_operations/{id}/cancel', { params: { path } })),
    done: 'Validation canceled. Its results are kept.',
    refresh: ['validation_operations'],
  });
  return (
    <>
      <Button busy={download.busy} onClick={() => download.run()}>
        Download all results
      </Button>
      {isUnfinished(operation) && (
        <ConfirmButton
          label="Cancel"
          title="Cancel this validation?"
          confirm="Cancel the validation"
          busy={cancel.busy}
          onConfirm={() => cancel.run()}
        >
          <p>The results found so far are kept and charged. The rest of the reserved money is released.</p>
        </ConfirmButton>
      )}
      <WorkflowLink id={`validation/${operation.id}`} />
    </>
  );
}

function State({ operation }: { operation: Operation }) {
  const { candidate_count: total, remaining_count: remaining, counts, status } = operation;
  return (
    <Card title="Progress">
      {status === 'pending' && <p>An account runs one validation at a time.</p>}
      <Progress done={total - remaining} total={total} label="Addresses checked" />
      {isUnfinished(operation) && <p className="muted">You may close this tab: the validation goes on.</p>}
      <div className="figures">
        {Object.entries(counts).map(([verdict, count]) => (
          <div key={verdict} className="figure">
            <strong>{countText(count)}</strong> <StatusBadge status={verdict} />
          </div>
        ))}
      </div>
      <DetailList
        items={[
          ['Price of one', centsText(operation.unit_price_cents)],
          ['At most', centsText(operation.maximum_charge_cents)],
          ['Charged', centsText(operation.charged_cents)],
          ['Created', <Time key="created" at={operation.created_at} full />],
          ['Finished', <Time key="finished" at={operation.finished_at} full />],
        ]}
      />
    </Card>
  );
}

const FILTERS: readonly Filter[] = [
  { name: 'verdict', label: 'Verdict', options: ['deliverable', 'undeliverable', 'risky', 'unknown'] },
];

const columns: readonly TableColumn<Item>[] = [
  {
    key: 'email',
    header: 'Email',
    cell: ({ contact_id: id, email }) => (
      <BrandLink to={`/contacts/${id}`}>{email ?? `Contact ${id}`}</BrandLink>
    ),
  },
  {
    key: 'verdict',
    header: 'Verdict',
    cell: ({ verdict }) => (verdict === null ? '–' : <StatusBadge status={verdict} />),
  },
  { key: 'reason', header: 'Reason', cell: ({ reason }) => reason?.replaceAll('_', ' ') ?? '–' },
  {
    key: 'suggestion',
    header: 'Did they mean',
    cell: ({ suggestion }) => suggestion ?? '–',
    wideOnly: true,
  },
  { key: 'checked', header: 'Checked', cell: ({ checked_at: at }) => <Time at={at} />, wideOnly: true },
];

function Items({ operation }: { operation: Operation }) {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const query = useQuery({
    queryKey: ['validation_operations', operation.id, 'items', list.query],
    queryFn: ({ signal }) =>
      callPage(async () => {
        const { data, ...answer } = await api.GET('/v1/my/validation_operations/{id}/items', {
          params: { path: { id: operation.id }, query: list.query },
          signal,
        });
        // The other representation is CSV, which this request does not ask for.
        return { ...answer, data: data as Item[] | undefined };
      }),
    placeholderData: keepPreviousData,
    refetchInterval: isUnfinished(operation) ? POLL_MS : false,
  });
  return (
    <Card title="Addresses">
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Addresses"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            empty={<p className="muted">None. Results are kept for 90 days.</p>}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </Card>
  );
}
