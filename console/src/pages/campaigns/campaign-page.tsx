import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { Chart } from '../../ui/chart.tsx';
import { Card, countText, Facts, shareText, Time } from '../../ui/facts.tsx';
import { BrandLink } from '../../ui/links.tsx';
import { QueryView } from '../../ui/query-view.tsx';
import { CampaignFrame, type Campaign } from './campaign-frame.tsx';
import { CampaignProgress } from './campaign-state.tsx';
import { DomainTable, LinkTable, VariantTable } from './report-tables.tsx';
import { isUnderWay } from './waiting.ts';

type Report = Schemas['CampaignReport'];

/** A report reads all recipients, so it is asked for less often than the progress. */
const REPORT_POLL_MS = 10_000;

export function CampaignPage() {
  return (
    <CampaignFrame>
      {(campaign) => (
        <>
          {campaign.data.progress.audience_count > 0 && (
            <Card title="Progress">
              <CampaignProgress campaign={campaign} />
              <Counts campaign={campaign} />
            </Card>
          )}
          <CampaignFacts campaign={campaign} />
          {campaign.data.progress.audience_count > 0 && <CampaignReport campaign={campaign} />}
        </>
      )}
    </CampaignFrame>
  );
}

const COUNTS = ['sent', 'failed', 'skipped', 'unknown', 'canceled', 'remaining'] as const;

/** Each recipient is in one of these counts; each leads to its recipients. */
function Counts({ campaign }: { campaign: Campaign }) {
  return (
    <div className="figures">
      {COUNTS.map((state) => (
        <div key={state} className="figure">
          <strong>{countText(campaign.data.progress[`${state}_count`])}</strong>
          <BrandLink to={`/campaigns/${campaign.id}/recipients`} search={{ state }}>
            {state}
          </BrandLink>
        </div>
      ))}
    </div>
  );
}

function CampaignFacts({ campaign }: { campaign: Campaign }) {
  const { trigger, data } = campaign;
  const { contact_list_id: listId, segment_id: segmentId } = trigger;
  const { throttle_per_minute: throttle, send_at_local_time: local, ab } = data.options;
  const excluded = [
    ...idsOf(trigger.data.exclude_list_ids).map((id) => `list ${id}`),
    ...idsOf(trigger.data.exclude_segment_ids).map((id) => `segment ${id}`),
  ];
  return (
    <Card title="Audience and options">
      <Facts
        items={[
          ['List', listId === null ? null : <AudienceLink key="list" of="lists" id={listId} />],
          [
            'Segment',
            segmentId === null ? null : <AudienceLink key="segment" of="segments" id={segmentId} />,
          ],
          ['Without', excluded.join(', ')],
          [
            'Scheduled for',
            campaign.scheduled_at && <Time key="scheduled" at={campaign.scheduled_at} full />,
          ],
          ['Pace', throttle ? `${countText(throttle)} a minute` : null],
          ['Local time', local === true ? 'at the clock time of each recipient' : null],
          ['A/B test', ab ? `${ab.variants.length} variants, decided by ${ab.by}` : null],
          ['Created', <Time key="created" at={campaign.created_at} full />],
          ['Changed', <Time key="changed" at={campaign.updated_at} full />],
        ]}
      />
    </Card>
  );
}

const idsOf = (ids: unknown): number[] => (Array.isArray(ids) ? ids.map(Number) : []);

/** The audience by its name; by its number until that is loaded, or if it is gone. */
function AudienceLink({ of, id }: { of: 'lists' | 'segments'; id: number }) {
  const params = { path: { id } };
  const { data } = useQuery({
    queryKey: [of, id],
    queryFn: ({ signal }): Promise<{ name: string }> =>
      of === 'lists'
        ? call(() => api.GET('/v1/my/lists/{id}', { params, signal }))
        : call(() => api.GET('/v1/my/segments/{id}', { params, signal })),
  });
  return <BrandLink to={`/${of}/${id}`}>{data?.name ?? String(id)}</BrandLink>;
}

function CampaignReport({ campaign }: { campaign: Campaign }) {
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
