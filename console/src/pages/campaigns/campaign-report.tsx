import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { Chart } from '../../ui/chart.tsx';
import { Card, countText, shareText } from '../../ui/details.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import type { Campaign } from './campaign-frame.tsx';
import { DomainTable, LinkTable, VariantTable } from './report-tables.tsx';
import { isUnderWay } from './waiting.ts';

type Report = Schemas['CampaignReport'];

/** A report reads all recipients, so it is asked for less often than the progress. */
const REPORT_POLL_MS = 10_000;

/** The results of a campaign so far. */
export function CampaignReport({ campaign }: { campaign: Campaign }) {
  const { id } = campaign;
  const query = useQuery({
    queryKey: ['campaigns', id, 'report'],
    queryFn: ({ signal }) =>
      call(() => api.GET('/v1/my/campaigns/{id}/report', { params: { path: { id } }, signal })),
    refetchInterval: isUnderWay(campaign) ? REPORT_POLL_MS : false,
  });
  return (
    <QueryView query={query}>
      {(report) => (
        <>
          <Rates report={report} />
          <OverTime report={report} />
          <LinkTable links={report.links} />
          <DomainTable domains={report.domains} />
          <VariantTable variants={report.variants} />
        </>
      )}
    </QueryView>
  );
}

function Rates({ report: { counts, rates } }: { report: Report }) {
  const figures = [
    ['delivered', counts.delivered_count, rates.delivered],
    ['opened', counts.opened_count, rates.opened],
    ['clicked', counts.clicked_count, rates.clicked],
    ['bounced', counts.bounced_count, rates.bounced],
    ['complained', counts.complained_count, rates.complained],
  ] as const;
  return (
    <Card title="Results">
      <div className="figures">
        {figures.map(([name, count, rate]) => (
          <div key={name} className="figure">
            <strong>{countText(count)}</strong>
            {name} <span className="muted">{rate === null ? '–' : shareText(rate, 1)}</span>
          </div>
        ))}
      </div>
    </Card>
  );
}

const timeText = (at: string) => new Date(at).toLocaleString();

function OverTime({ report }: { report: Report }) {
  const { buckets } = report.over_time;
  // The chart is drawn again whenever its arrays are new ones.
  const { times, series } = useMemo(
    () => ({
      times: buckets.map(({ at }) => at),
      series: [
        { name: 'Sent', values: buckets.map((bucket) => bucket.sent_count) },
        { name: 'Opened', values: buckets.map((bucket) => bucket.opened_count) },
        { name: 'Clicked', values: buckets.map((bucket) => bucket.clicked_count) },
      ],
    }),
    [buckets],
  );
  // One point is no line, and the results above say as much.
  if (buckets.length < 2) return null;
  return (
    <Card title="Over time">
      <Chart label="Sent, opened and clicked over time" times={times} series={series} timeText={timeText} />
    </Card>
  );
}
