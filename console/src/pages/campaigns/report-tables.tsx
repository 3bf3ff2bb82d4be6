/** The tables of a campaign's report. */
import type { Schemas } from '../../api/client.ts';
import { Card, countText, shareText } from '../../ui/details.tsx';
import { DataTable, type TableColumn } from '../../ui/table.tsx';

type Report = Schemas['CampaignReport'];
type Link = Report['links'][number];
type Counts = Omit<Report['variants'][number], 'variant'>;

const number = <Row,>(header: string, value: (row: Row) => number, wideOnly = false): TableColumn<Row> => ({
  key: header,
  header,
  align: 'right',
  wideOnly,
  cell: (row) => countText(value(row)),
});

const LINKS: readonly TableColumn<Link>[] = [
  { key: 'url', header: 'Link', cell: ({ url }) => url ?? <span className="muted">not known any more</span> },
  { key: 'variant', header: 'Variant', wideOnly: true, cell: ({ variant }) => variant ?? '–' },
  number('People', (link) => link.unique_clicks),
  number('Clicks', (link) => link.total_clicks),
];

export function LinkTable({ links }: { links: readonly Link[] }) {
  if (links.length === 0) return null;
  return (
    <Card title="Links">
      <DataTable
        label="Links"
        rows={links}
        columns={LINKS}
        rowKey={({ variant, number: position }) => `${variant ?? 0}/${position}`}
      />
    </Card>
  );
}

const countColumns = <Row extends Counts>(): TableColumn<Row>[] => [
  number('Audience', (row) => row.audience_count, true),
  number('Sent', (row) => row.sent_count),
  number('Delivered', (row) => row.delivered_count),
  {
    key: 'opened',
    header: 'Opened',
    align: 'right',
    cell: (row) => `${countText(row.opened_count)} (${shareText(row.opened_count, row.sent_count)})`,
  },
  {
    key: 'clicked',
    header: 'Clicked',
    align: 'right',
    wideOnly: true,
    cell: (row) => `${countText(row.clicked_count)} (${shareText(row.clicked_count, row.sent_count)})`,
  },
  number('Bounced', (row) => row.bounced_count),
  number('Complained', (row) => row.complained_count, true),
];

const DOMAINS: readonly TableColumn<Report['domains'][number]>[] = [
  { key: 'domain', header: 'Domain', cell: ({ domain }) => domain ?? 'all others' },
  ...countColumns<Report['domains'][number]>(),
];

export function DomainTable({ domains }: { domains: Report['domains'] }) {
  if (domains.length === 0) return null;
  return (
    <Card title="Domains of recipients">
      <DataTable
        label="Domains of recipients"
        rows={domains}
        columns={DOMAINS}
        rowKey={({ domain }) => domain ?? ''}
      />
    </Card>
  );
}

const VARIANTS: readonly TableColumn<Report['variants'][number]>[] = [
  { key: 'variant', header: 'Variant', cell: ({ variant }) => variant },
  ...countColumns<Report['variants'][number]>(),
];

export function VariantTable({ variants }: { variants: Report['variants'] }) {
  // A campaign without an A/B test has the variant 0 only.
  if (variants.length < 2) return null;
  return (
    <Card title="Variants of the A/B test">
      <DataTable
        label="Variants of the A/B test"
        rows={variants}
        columns={VARIANTS}
        rowKey={({ variant }) => variant}
      />
    </Card>
  );
}
