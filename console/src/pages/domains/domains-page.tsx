import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { Button } from '../../ui/button.tsx';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { StatusBadge, Time } from '../../ui/details.tsx';
import { BrandLink, useOpen } from '../../ui/links.tsx';
import { PageHeader, Pager } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { AddDomain } from './add-domain.tsx';
import { isSettled, RECORDS_POLL_MS, wrongRecords } from './records.ts';

type Domain = Schemas['Domain'];

function Records({ domain }: { domain: Domain }) {
  if (domain.dns_records === null) return <span className="muted">being prepared</span>;
  const wrong = wrongRecords(domain).length;
  return wrong === 0 ? 'all required are right' : `${wrong} required not found yet`;
}

const columns: readonly TableColumn<Domain>[] = [
  {
    key: 'name',
    header: 'Domain',
    cell: ({ id, name }) => <BrandLink to={`/domains/${id}`}>{name}</BrandLink>,
  },
  { key: 'status', header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
  { key: 'records', header: 'DNS records', cell: (domain) => <Records domain={domain} /> },
  { key: 'provider', header: 'Provider', cell: ({ provider }) => provider, wideOnly: true },
  { key: 'verified', header: 'Verified', cell: ({ verified_at: at }) => <Time at={at} />, wideOnly: true },
  { key: 'created', header: 'Added', cell: ({ created_at: at }) => <Time at={at} />, wideOnly: true },
];

/** The domains that the brand sends from. */
export function DomainsPage() {
  const open = useOpen();
  const list = useListSearch([]);
  const [adding, setAdding] = useState(false);
  const query = useQuery({
    queryKey: ['domains', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/domains', { params: { query: list.query }, signal })),
    refetchInterval: ({ state }) => (state.data?.rows.every(isSettled) === false ? RECORDS_POLL_MS : false),
  });
  const add = (
    <Button kind="primary" onClick={() => setAdding(true)}>
      Add a domain
    </Button>
  );
  return (
    <>
      <PageHeader title="Domains" actions={add}>
        <p className="muted">The brand can send from every address at a verified domain.</p>
      </PageHeader>
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Domains"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            onOpen={({ id }) => open(`/domains/${id}`)}
            empty={
              <EmptyState
                title="No domain yet"
                curl={curlOf('POST', '/v1/my/domains', { domain: { name: 'example.com' } })}
              >
                <p>
                  Until a domain is verified, mail leaves from the sandbox address. Add your domain, copy its
                  DNS records to your DNS provider, and Carillon verifies it by itself.
                </p>
              </EmptyState>
            }
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
      {adding && <AddDomain onClose={() => setAdding(false)} />}
    </>
  );
}
