import { useQuery } from '@tanstack/react-query';
import { api, callPage, type Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { curlOf, EmptyState } from '../../ui/code.tsx';
import { Card, centsText, countText, DetailList, Progress, StatusBadge, Time } from '../../ui/details.tsx';
import { Filters, PageHeader, Pager, type Filter } from '../../ui/list-page.tsx';
import { useListSearch } from '../../ui/list-search.ts';
import { Notice } from '../../ui/notice.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';
import { accountQuery } from './account-query.ts';

const FILTERS: readonly Filter[] = [
  {
    name: 'kind',
    label: 'Kind',
    options: ['credit', 'debit', 'top_up', 'validation', 'refund', 'usage', 'dispute'].map((value) => ({
      value,
      label: value.replaceAll('_', '-'),
    })),
  },
];

const columns: readonly TableColumn<Schemas['WalletEntry']>[] = [
  { key: 'kind', header: 'Kind', cell: ({ kind }) => <StatusBadge status={kind} tone="quiet" /> },
  { key: 'amount', header: 'Amount', align: 'right', cell: ({ amount_cents: cents }) => centsText(cents) },
  { key: 'reference', header: 'Reference', cell: ({ reference }) => reference ?? '–' },
  { key: 'month', header: 'Month', cell: ({ month }) => month?.slice(0, 7) ?? '–', wideOnly: true },
  { key: 'at', header: 'Posted', cell: ({ created_at: at }) => <Time at={at} /> },
];

/** The balance, the usage of this month, and every change of the balance. */
export function WalletPage() {
  const { manages } = useBrand();
  return (
    <>
      <PageHeader title="Wallet">
        <p className="muted">Amounts are in the currency of this installation. Months are in UTC.</p>
      </PageHeader>
      {manages ? (
        <>
          <Balance />
          <Entries />
        </>
      ) : (
        <Notice tone="warn">Only owners and admins see the wallet.</Notice>
      )}
    </>
  );
}

function Balance() {
  const query = useQuery(accountQuery);
  return (
    <QueryView query={query}>
      {({ billing, can_send: canSend, spend_cap_monthly_cents: cap }) => (
        <div className="grid">
          <Card title="Balance">
            <DetailList
              items={[
                ['Balance', centsText(billing.wallet_balance_cents)],
                ['Monthly spend cap', cap === null ? 'None' : centsText(cap)],
                ['Automatic top-ups', billing.auto_topup ? 'On' : 'Off'],
                ['Plan', billing.plan_name],
              ]}
            />
            {!canSend && <Notice tone="bad">The balance or the spend cap refuses the next message.</Notice>}
            <p className="hint">An operator of this installation credits the wallet and sets the cap.</p>
          </Card>
          <Card title="This month">
            <Usage name="Emails" of={billing.resources.email} />
            <Usage name="SMS" of={billing.resources.sms} />
          </Card>
        </div>
      )}
    </QueryView>
  );
}

function Usage({ name, of }: { name: string; of: Schemas['Account']['billing']['resources']['email'] }) {
  const rate = of.overage_rate > 0 ? ` Each one above it costs ${of.overage_rate} cents.` : '';
  return (
    <section>
      <h3>{name}</h3>
      {of.limited ? (
        <Progress done={of.used} total={of.allowance} label={`${name} of the allowance`} />
      ) : (
        <p>{countText(of.used)} used</p>
      )}
      <p className="hint">
        {of.limited ? `The plan includes ${countText(of.allowance)}.` : 'The plan has no limit.'}
        {rate}
      </p>
    </section>
  );
}

function Entries() {
  const list = useListSearch(FILTERS.map(({ name }) => name));
  const query = useQuery({
    queryKey: ['wallet_entries', list.query],
    queryFn: ({ signal }) =>
      callPage(() => api.GET('/v1/my/wallet/entries', { params: { query: list.query }, signal })),
  });
  return (
    <Card title="Changes of the balance">
      <Filters filters={FILTERS} list={list} />
      <QueryView query={query}>
        {({ rows }) => (
          <DataTable
            label="Changes of the balance"
            rows={rows}
            columns={columns}
            rowKey={({ id }) => id}
            empty={
              <EmptyState
                title="Nothing has changed the balance"
                curl={curlOf('GET', '/v1/my/wallet/entries')}
              >
                <p>Credits, payments and charges appear here. The messages of a month are one entry.</p>
              </EmptyState>
            }
          />
        )}
      </QueryView>
      <Pager list={list} page={query.data} />
    </Card>
  );
}
