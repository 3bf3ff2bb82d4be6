import { useQuery } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { UnpublishedMark } from '../../editors/draft/unpublished.tsx';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { countText, StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { CampaignProgress } from './campaign-state.tsx';
import { NewCampaign } from './new-campaign.tsx';
import { isUnderWay } from './waiting.ts';

type Campaign = Schemas['CampaignSummary'];

const FILTERS: readonly Filter[] = [
  { name: 'name', label: 'Name', type: 'search' },
  { name: 'status', label: 'Status', options: ['draft', 'active', 'paused', 'completed'] },
  { name: 'channel', label: 'Channel', options: ['email', 'sms'] },
  { name: 'created_after', label: 'Created after', type: 'date' },
  { name: 'created_before', label: 'Created before', type: 'date' },
];

const COLUMNS: readonly TableColumn<Campaign>[] = [
  {
    key: 'name',
    header: 'Name',
    cell: ({ id, name }) => (
      <>
        <BrandLink to={`/campaigns/${id}`}>{name}</BrandLink>
        <UnpublishedMark kind="campaigns" id={id} />
      </>
    ),
  },
  {
    key: 'status',
    header: 'Status',
    cell: ({ status, data }) => <StatusBadge status={data.outcome ?? status} />,
  },
  { key: 'progress', header: 'Progress', width: '16rem', cell: (campaign) => <ProgressCell {...campaign} /> },
  { key: 'channel', header: 'Channel', wideOnly: true, cell: ({ channel }) => channel },
  {
    key: 'sent',
    header: 'Sent',
    align: 'right',
    cell: ({ sent_count: count }) => countText(count),
  },
  {
    key: 'failed',
    header: 'Failed',
    align: 'right',
    wideOnly: true,
    cell: ({ data }) => countText(data.progress.failed_count),
  },
  {
    key: 'created',
    header: 'Created',
    wideOnly: true,
    cell: ({ created_at: at }) => <Time at={at} />,
  },
];

/** The progress, or what a campaign waits for before it has any. */
function ProgressCell(campaign: Campaign) {
  const { status, scheduled_at: at, data } = campaign;
  if (data.progress.audience_count > 0) return <CampaignProgress campaign={campaign} />;
  if (status === 'draft') return <span className="muted">not sent</span>;
  return at === null ? (
    <span className="muted">{data.progress.waiting_for?.reason.replaceAll('_', ' ') ?? '–'}</span>
  ) : (
    <span>
      begins <Time at={at} />
    </span>
  );
}

export function CampaignsPage() {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const open = useOpen();
  const query = useQuery({
    queryKey: ['campaigns', list.query],
    queryFn: ({ signal }) =>
      callPage(() =>
        api.GET('/v1/my/campaigns', { params: { query: { ...list.query, summary: 'true' } }, signal }),
      ),
    refetchInterval: (running) => (running.state.data?.rows.some(isUnderWay) === true ? POLL_MS : false),
  });
  return (
    <>
      <PageHeader title="Campaigns" actions={<NewCampaign />} />
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {(page) => (
          <DataTable
            label="Campaigns"
            rows={page.rows}
            columns={COLUMNS}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(`/campaigns/${id}`)}
            empty={<NoCampaigns />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

const NoCampaigns = () => (
  <EmptyState
    title="No campaigns here"
    curl={curlOf('POST', '/v1/my/campaigns', {
      name: 'Spring sale',
      trigger_attributes: { contact_list_id: 1 },
      template_attributes: { template_id: 1 },
    })}
  >
    <p>
      A campaign sends one content to the contacts of a <BrandLink to="/lists">list</BrandLink> or{' '}
      <BrandLink to="/segments">segment</BrandLink>. It begins as a draft, and shows its progress and report
      here.
    </p>
  </EmptyState>
);
