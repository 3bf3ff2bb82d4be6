import { useQuery } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { recipientStatuses } from '../../api/message-statuses.ts';
import { POLL_MS } from '../../api/query-client.ts';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { Filters, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { CampaignFrame, type Campaign } from './campaign-frame.tsx';
import { RecipientActions } from './recipient-actions.tsx';
import { isUnderWay } from './waiting.ts';

type Recipient = Schemas['CampaignRecipient'];

const YES_NO = [
  { value: 'true', label: 'Yes' },
  { value: 'false', label: 'No' },
];

const FILTERS: readonly Filter[] = [
  {
    name: 'state',
    label: 'State',
    options: ['sent', 'failed', 'skipped', 'unknown', 'canceled', 'remaining'],
  },
  { name: 'status', label: 'Status of the message', options: recipientStatuses },
  { name: 'reason', label: 'Reason' },
  { name: 'opened', label: 'Opened', options: YES_NO },
  { name: 'clicked', label: 'Clicked', options: YES_NO },
];

const COLUMNS: readonly TableColumn<Recipient>[] = [
  { key: 'to', header: 'To', cell: ({ id, to }) => <BrandLink to={`/messages/${id}`}>{to ?? id}</BrandLink> },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  { key: 'reason', header: 'Reason', cell: reasonOf },
  { key: 'variant', header: 'Variant', wideOnly: true, cell: ({ variant }) => variant ?? '–' },
  { key: 'sent', header: 'Sent', cell: ({ sent_at: at }) => <Time at={at} /> },
  { key: 'opened', header: 'Opened', wideOnly: true, cell: ({ opened_at: at }) => <Time at={at} /> },
  { key: 'clicked', header: 'Clicked', wideOnly: true, cell: ({ clicked_at: at }) => <Time at={at} /> },
  {
    key: 'contact',
    header: 'Contact',
    wideOnly: true,
    cell: ({ contact_id: id }) =>
      id === null ? (
        <span className="muted">deleted</span>
      ) : (
        <BrandLink to={`/contacts/${id}`}>{id}</BrandLink>
      ),
  },
];

/** Why a message was not sent, or came back. */
function reasonOf({ failure, bounce }: Recipient) {
  if (failure) return `${failure.code}: ${failure.message}`;
  if (bounce) return [`${bounce.type} bounce`, bounce.diagnostic].filter(Boolean).join(': ');
  return <span className="muted">–</span>;
}

export const CampaignRecipientsPage = () => (
  <CampaignFrame>{(campaign) => <Recipients campaign={campaign} />}</CampaignFrame>
);

function Recipients({ campaign }: { campaign: Campaign }) {
  const { id } = campaign;
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const query = useQuery({
    queryKey: ['campaigns', id, 'recipients', list.query],
    queryFn: ({ signal }) =>
      callPage(async () => {
        const { data, ...answer } = await api.GET('/v1/my/campaigns/{id}/recipients', {
          params: { path: { id }, query: list.query },
          signal,
        });
        // The other representation is CSV, which this request does not ask for.
        return { ...answer, data: data as Recipient[] | undefined };
      }),
    refetchInterval: isUnderWay(campaign) ? 2 * POLL_MS : false,
  });
  return (
    <>
      <Filters filters={FILTERS} list={list} />
      <RecipientActions campaign={campaign} list={list} count={query.data?.total ?? 0} />
      <QueryView query={query}>
        {(page) => (
          <DataTable
            label="Recipients"
            rows={page.rows}
            columns={COLUMNS}
            rowKey={(recipient) => recipient.id}
            empty={<p className="muted">{emptyText(campaign)}</p>}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

const emptyText = ({ data }: Campaign) =>
  data.progress.audience_count === 0
    ? 'Recipients are listed here as soon as the campaign begins to be sent.'
    : 'No recipient matches.';
