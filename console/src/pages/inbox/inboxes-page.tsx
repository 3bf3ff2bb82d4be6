import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { Notice } from '../../ui/notice.tsx';
import { bytesText, countText } from '../../ui/numbers.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { InboxForm } from './inbox-form.tsx';
import { InboxTabs } from './inbox-tabs.tsx';

type Inbox = Schemas['Inbox'];

function Mx({ inbox: { mx_status: status, domain_id: domainId } }: { inbox: Inbox }) {
  if (status === null) return <span className="muted">not needed</span>;
  return (
    <>
      <StatusBadge status={status} />{' '}
      {status !== 'verified' && domainId !== null && (
        <BrandLink to={`/domains/${domainId}`}>See the record</BrandLink>
      )}
    </>
  );
}

const columnsOf = (manages: boolean, edit: (inbox: Inbox) => void): readonly TableColumn<Inbox>[] => [
  {
    key: 'address',
    header: 'Address',
    cell: ({ id, address }) => (
      <BrandLink to="/inbox" search={{ inbox_id: String(id) }}>
        {address}
      </BrandLink>
    ),
  },
  { key: 'name', header: 'Name', cell: ({ name }) => name ?? <span className="muted">–</span> },
  {
    key: 'state',
    header: 'State',
    cell: ({ enabled }) => <StatusBadge status={enabled ? 'on' : 'off'} />,
  },
  { key: 'mx', header: 'MX record', cell: (inbox) => <Mx inbox={inbox} /> },
  { key: 'created', header: 'Created', cell: ({ created_at: at }) => <Time at={at} />, wideOnly: true },
  ...(manages
    ? [
        {
          key: 'actions',
          header: 'Change',
          cell: (inbox: Inbox) => (
            <span className="actions">
              <Button kind="quiet" aria-label={`Edit ${inbox.address}`} onClick={() => edit(inbox)}>
                Edit
              </Button>
              <RemoveInbox inbox={inbox} />
            </span>
          ),
        },
      ]
    : []),
];

/** The addresses of the brand that receive mail. */
export function InboxesPage() {
  const { manages } = useBrand();
  const [form, setForm] = useState<Inbox | 'new' | null>(null);
  const list = useListSearch([]);
  const query = useQuery({
    queryKey: ['inboxes', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/inboxes', { params: { query: list.query }, signal })),
  });
  const account = useQuery({
    queryKey: ['account'],
    queryFn: ({ signal }) => call(() => api.GET('/v1/my/account', { signal })),
  });
  const isAllowed = account.data?.capabilities.inboxes !== false;
  const columns = useMemo(() => columnsOf(manages, setForm), [manages]);
  return (
    <>
      <PageHeader
        title="Inboxes"
        actions={
          manages && (
            <Button kind="primary" disabled={!isAllowed} onClick={() => setForm('new')}>
              Create an inbox
            </Button>
          )
        }
      />
      <InboxTabs />
      <Usage />
      {!isAllowed && (
        <Notice tone="warn" title="Inboxes are available on request">
          <p>Ask the operator of this service to turn them on for your account.</p>
        </Notice>
      )}
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Inboxes"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            empty={
              <EmptyState
                title="No inbox yet"
                curl={curlOf('POST', '/v1/my/inboxes', { address: 'support@inbox.example.com' })}
              >
                <p>
                  An inbox is an address whose mail you read and reply to here. It can be at a verified domain
                  of the brand, or built in, which needs no domain.
                </p>
              </EmptyState>
            }
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
      {form !== null && (
        <InboxForm {...(form === 'new' ? {} : { inbox: form })} onClose={() => setForm(null)} />
      )}
    </>
  );
}

/** What mail stores, and what was deleted from quarantine to make room. */
function Usage() {
  const { data } = useQuery({
    queryKey: ['inboxes', 'usage'],
    queryFn: ({ signal }) => call(() => api.GET('/v1/my/inboxes/usage', { signal })),
  });
  if (!data) return null;
  const { used_bytes: used, quota_bytes: quota, quarantined_bytes: held, evicted_count: evicted } = data;
  return (
    <p className="muted">
      <meter value={used} max={quota} aria-label="Used part of the quota" /> {bytesText(used)} of{' '}
      {bytesText(quota)} used by the mail of all brands of the account, of which {bytesText(held)} in
      quarantine.
      {evicted > 0 && ` Deleted from quarantine to make room: ${countText(evicted)}.`}
    </p>
  );
}

function RemoveInbox({ inbox: { id, address } }: { inbox: Inbox }) {
  const action = useAction({
    work: () => call(() => api.DELETE('/v1/my/inboxes/{id}', { params: { path: { id } } })),
    done: `${address} is removed.`,
    refresh: ['inboxes'],
  });
  return (
    <ConfirmButton
      label="Remove"
      title={`Remove ${address}?`}
      confirm="Remove inbox"
      busy={action.busy}
      onConfirm={() => action.run()}
    >
      <p>It refuses mail from now on. Its conversations stay, but can only be read.</p>
    </ConfirmButton>
  );
}
