import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { labelOf } from '../../api/choices.ts';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { Button } from '../../ui/button.tsx';
import { EmptyState } from '../../ui/code.tsx';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { brandOptions } from './brand-options.ts';
import { CreateKeyDialog } from './create-key-dialog.tsx';
import { KeyActions } from './key-actions.tsx';
import { NewKeyDialog } from './new-key-dialog.tsx';
import { SmtpCard } from './smtp-card.tsx';

/** The keys by which programs use the API. */
export function ApiKeysPage() {
  const { account } = useBrand();
  const brands = brandOptions(account);
  const filters: readonly Filter[] = [
    { name: 'brand_id', label: 'Brand', options: brands },
    { name: 'revoked', label: 'State', any: 'Valid', options: [{ value: 'true', label: 'Revoked' }] },
  ];
  const list = useListSearch(filters.map(({ name }) => name));
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<Schemas['CreatedApiKey'] | null>(null);
  const keys = useQuery({
    queryKey: ['api_keys', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/api_keys', { params: { query: list.query }, signal })),
  });
  const brandText = (id: number) => labelOf(brands, id, `Brand ${id}`);
  const create = (
    <Button kind="primary" onClick={() => setCreating(true)}>
      Create a key
    </Button>
  );
  return (
    <>
      <PageHeader title="API keys" actions={create}>
        <p className="muted">Programs use the API with a key, which belongs to one brand.</p>
      </PageHeader>
      <Filters filters={filters} list={list} />
      <QueryView query={keys}>
        {(page) => (
          <>
            <DataTable
              label="API keys"
              rows={page.rows}
              columns={columns(brandText)}
              rowKey={({ id }) => id}
              empty={<NoKeys revoked={list.search.revoked === 'true'} />}
            />
            <Pager list={list} page={page} />
            <SmtpCard />
          </>
        )}
      </QueryView>
      {creating && (
        <CreateKeyDialog
          onClose={() => setCreating(false)}
          onCreated={(key) => {
            setCreating(false);
            setCreated(key);
          }}
        />
      )}
      <NewKeyDialog created={created} onClose={() => setCreated(null)} />
    </>
  );
}

function NoKeys({ revoked }: { revoked: boolean }) {
  if (revoked) return <p className="muted">No key was revoked.</p>;
  return (
    <EmptyState title="No API key yet">
      <p>
        A program needs a key to send. Create one here. It is shown once, with a command that uses it. Begin
        with a test key, whose messages are not sent.
      </p>
    </EmptyState>
  );
}

const columns = (brandText: (id: number) => string): readonly TableColumn<Schemas['ApiKey']>[] => [
  { key: 'name', header: 'Name', width: '14rem', cell: ({ name }) => name || <em>Without a name</em> },
  { key: 'prefix', header: 'Key', width: '10rem', cell: ({ prefix }) => <code>{prefix}…</code> },
  {
    key: 'test',
    header: 'Kind',
    cell: (key) => <KindBadge apiKey={key} />,
  },
  { key: 'brand_id', header: 'Brand', width: '9rem', cell: (key) => brandText(key.brand_id), wideOnly: true },
  {
    key: 'rate_limit_per_second',
    header: 'Requests per second',
    align: 'right',
    wideOnly: true,
    cell: ({ rate_limit_per_second: limit }) => rateText(limit),
  },
  { key: 'last_used_at', header: 'Last used', cell: (key) => <Time at={key.last_used_at} /> },
  { key: 'created_at', header: 'Created', cell: (key) => <Time at={key.created_at} />, wideOnly: true },
  { key: 'actions', header: 'Actions', width: '13rem', cell: (key) => <KeyActions apiKey={key} /> },
];

function KindBadge({ apiKey: { test, scopes } }: { apiKey: Schemas['ApiKey'] }) {
  if (test) return <StatusBadge status="test" tone="quiet" />;
  return <StatusBadge status={scopes === null ? 'live' : 'send-only'} tone="good" />;
}

const rateText = (limit: number | null) => (limit === 0 ? 'no limit' : String(limit ?? 'default'));
