import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, call, type Schemas } from '../../api/client.ts';
import { useBrand } from '../../shell/brand.ts';
import { Chart } from '../../ui/chart.tsx';
import { Card, countText, shareText } from '../../ui/details.tsx';
import { Field, Select } from '../../ui/field.tsx';
import { useListSearch, type ListState } from '../../ui/list-search.ts';
import { QueryView } from '../../ui/query-view.tsx';
import { boundsOf, periodNamed, periods, type Interval } from './periods.ts';

type Stats = Schemas['Stats'];
type Name = keyof Schemas['StatsFigures'];

const REFRESH_MS = 30_000;

const NAMES: readonly { name: Name; label: string; hint: string }[] = [
  { name: 'sent', label: 'Sent', hint: 'accepted by a provider' },
  { name: 'delivered', label: 'Delivered', hint: 'accepted by the mail server or phone network' },
  { name: 'bounced', label: 'Bounced', hint: 'refused because of the recipient' },
  { name: 'complained', label: 'Spam reports', hint: 'marked as spam by the recipient' },
  { name: 'opened', label: 'Opened', hint: 'opened by a person' },
  { name: 'clicked', label: 'Clicked', hint: 'a link was followed' },
  { name: 'unsubscribed', label: 'Unsubscribed', hint: 'by a link of the message' },
];

const INTERVALS = [
  { value: 'hour', label: 'Hour' },
  { value: 'day', label: 'Day' },
];
const SOURCES = [
  { value: '', label: 'Everything' },
  { value: 'campaign', label: 'Campaigns' },
  { value: 'flow', label: 'Flows' },
  { value: 'api', label: 'API' },
];
const CHANNELS = [
  { value: '', label: 'Email and SMS' },
  { value: 'email', label: 'Email' },
  { value: 'sms', label: 'SMS' },
];

const oneOf = <Value extends string>(
  values: readonly Value[],
  given: string | undefined,
): Value | undefined => values.find((value) => value === given);

/** What the URL asks for; a value that it does not know counts as none. */
function selectionOf({ search }: ListState) {
  const period = periodNamed(search.period);
  return {
    period,
    interval: oneOf<Interval>(['hour', 'day'], search.interval) ?? period.interval,
    source: oneOf(['campaign', 'flow', 'api'] as const, search.source),
    channel: oneOf(['email', 'sms'] as const, search.channel),
  };
}

type Selection = ReturnType<typeof selectionOf>;

function useStats({ period, interval, source, channel }: Selection) {
  const { brandId } = useBrand();
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return useQuery({
    queryKey: ['stats', period.name, interval, source, channel, timeZone],
    queryFn: ({ signal }) => {
      const chosen = { ...(source ? { source } : {}), ...(channel ? { channel } : {}) };
      const query = {
        ...boundsOf(period, interval),
        interval,
        timezone: timeZone,
        brand_id: brandId,
        ...chosen,
      };
      return call(() => api.GET('/v1/my/stats', { params: { query }, signal }));
    },
    placeholderData: keepPreviousData,
    refetchInterval: REFRESH_MS,
  });
}

/** How many messages were sent, and what became of them, as sums and over time. */
export function Figures() {
  const list = useListSearch([]);
  const selection = selectionOf(list);
  const query = useStats(selection);
  return (
    <Card title="What was sent, and how it went">
      <Choices list={list} selection={selection} />
      <QueryView query={query}>
        {(stats) => (
          <>
            <Totals totals={stats.totals} />
            <SeriesChart stats={stats} label={selection.period.label} />
          </>
        )}
      </QueryView>
    </Card>
  );
}

function Choices({ list, selection }: { list: ListState; selection: Selection }) {
  const { period, interval, source, channel } = selection;
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <Field label="Period">
        <Select
          value={period.name}
          options={periods.map(({ name, label }) => ({ value: name, label }))}
          onChange={({ target }) => list.set({ period: target.value, interval: undefined })}
        />
      </Field>
      <Field label="By">
        <Select
          value={interval}
          options={INTERVALS}
          onChange={({ target }) => list.set({ interval: target.value })}
        />
      </Field>
      <Field label="Sent by">
        <Select
          value={source ?? ''}
          options={SOURCES}
          onChange={({ target }) => list.set({ source: target.value })}
        />
      </Field>
      <Field label="Channel">
        <Select
          value={channel ?? ''}
          options={CHANNELS}
          onChange={({ target }) => list.set({ channel: target.value })}
        />
      </Field>
    </form>
  );
}

function Totals({ totals }: { totals: Schemas['StatsFigures'] }) {
  return (
    <div className="figures">
      {NAMES.map(({ name, label, hint }) => (
        <div key={name} className="figure" title={hint}>
          <span>{label}</span>
          <strong>{countText(totals[name])}</strong>
          {name !== 'sent' && totals[name] <= totals.sent && totals.sent > 0 && (
            <span className="muted">{shareText(totals[name], totals.sent)} of sent</span>
          )}
        </div>
      ))}
    </div>
  );
}

const dayText = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' });
const hourText = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

function SeriesChart({ stats, label }: { stats: Stats; label: string }) {
  const { times, series } = useMemo(() => {
    const points = stats.series[0]?.points ?? [];
    return {
      times: points.map(({ at }) => at),
      series: NAMES.map(({ name, label: title }) => ({
        name: title,
        values: points.map((point) => point[name]),
      })),
    };
  }, [stats]);
  const format = stats.interval === 'day' ? dayText : hourText;
  return (
    <Chart
      label={`Messages, ${label.toLowerCase()}`}
      times={times}
      series={series}
      timeText={(at) => format.format(new Date(at))}
    />
  );
}
