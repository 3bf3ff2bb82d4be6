import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, call, callPage, type Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { useAction } from '../../ui/action.ts';
import { Button } from '../../ui/button.tsx';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { ConfirmButton } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { ExportButton } from '../exports/export-button.tsx';
import { BulkSuppressions } from './bulk-suppressions.tsx';
import { SuppressionForm } from './suppression-form.tsx';

type Suppression = Schemas['Suppression'];

const FILTERS: readonly Filter[] = [
  { name: 'email', label: 'Email address', type: 'email' },
  { name: 'phone', label: 'Phone number' },
  { name: 'reason', label: 'Reason', options: ['hard_bounce', 'soft_bounce', 'complaint', 'manual'] },
  { name: 'source_provider', label: 'Provider' },
  {
    name: 'active',
    label: 'State',
    options: [
      { value: 'true', label: 'Active' },
      { value: 'false', label: 'Ended' },
    ],
  },
];

/** Members may not end these: the recipient complained, or the mailbox is gone. */
const SEVERE: ReadonlySet<Suppression['reason']> = new Set(['complaint', 'hard_bounce']);

const columns: readonly TableColumn<Suppression>[] = [
  { key: 'address', header: 'Address', cell: ({ email, phone }) => email ?? phone ?? '–' },
  {
    key: 'reason',
    header: 'Reason',
    cell: ({ reason, active }) => <StatusBadge status={reason} tone={active ? 'warn' : 'quiet'} />,
  },
  { key: 'diagnostic', header: 'Details', cell: ({ diagnostic }) => diagnostic ?? '–', wideOnly: true },
  {
    key: 'provider',
    header: 'Provider',
    cell: ({ source_provider: provider }) => provider ?? '–',
    wideOnly: true,
  },
  {
    key: 'until',
    header: 'Until',
    cell: ({ active, expires_at: at }) => {
      if (!active) return 'ended';
      return at === null ? 'you end it' : <Time at={at} />;
    },
    wideOnly: true,
  },
  { key: 'created', header: 'Since', cell: ({ created_at: at }) => <Time at={at} />, wideOnly: true },
  { key: 'actions', header: 'Actions', cell: (suppression) => <EndButton suppression={suppression} /> },
];

export function SuppressionsPage() {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const query = useQuery({
    queryKey: ['suppressions', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/suppressions', { params: { query: list.query }, signal })),
    placeholderData: keepPreviousData,
  });
  return (
    <>
      <PageHeader title="Suppressions" actions={<Actions filters={list.filter} />}>
        <p className="muted">Addresses of the account that get no message at all, whatever sends it.</p>
      </PageHeader>
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Suppressions"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            empty={Object.keys(list.filter).length > 0 ? <p>No suppression matches.</p> : <NoSuppressions />}
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </>
  );
}

function Actions({ filters }: { filters: Record<string, string> }) {
  const [shown, setShown] = useState<'one' | 'many' | null>(null);
  const close = () => setShown(null);
  return (
    <>
      <ExportButton resource="suppressions" filters={filters} />
      <Button onClick={() => setShown('many')}>Many at once</Button>
      <Button kind="primary" onClick={() => setShown('one')}>
        Suppress an address
      </Button>
      <Dialog open={shown === 'one'} onClose={close} title="Suppress an address">
        <SuppressionForm onClose={close} />
      </Dialog>
      <Dialog open={shown === 'many'} onClose={close} title="Many suppressions at once" wide>
        <BulkSuppressions onClose={close} />
      </Dialog>
    </>
  );
}

function EndButton({ suppression: { id, email, phone, reason, active } }: { suppression: Suppression }) {
  const { manages } = useBrand();
  const end = useAction({
    work: () => call(() => api.DELETE('/v1/my/suppressions/{id}', { params: { path: { id } } })),
    done: 'Suppression ended.',
    refresh: ['suppressions', 'contacts'],
  });
  if (!active || (SEVERE.has(reason) && !manages)) return null;
  return (
    <ConfirmButton
      label="End"
      title={`Send to ${email ?? phone ?? 'this address'} again?`}
      confirm="End the suppression"
      busy={end.busy}
      onConfirm={() => end.run()}
    >
      <p>
        {reason === 'complaint' &&
          'The recipient reported your mail as spam. Another complaint may cost you your reputation. '}
        {reason === 'hard_bounce' && 'The mailbox did not exist. Another bounce harms your reputation. '}
        Messages to this address are sent again.
      </p>
    </ConfirmButton>
  );
}

function NoSuppressions() {
  return (
    <EmptyState
      title="No suppressions"
      curl={curlOf('POST', '/v1/my/suppressions', { email: 'gone@example.com' })}
    >
      <p>
        Addresses that bounce, or whose owners report spam, are added automatically. You can add addresses
        that must not get any message, or <BrandLink to="/imports/new">import a file</BrandLink> from another
        service.
      </p>
    </EmptyState>
  );
}
