import { lazy, Suspense, useState } from 'react';
import { countText } from './details.tsx';

export interface ChartSeries {
  name: string;
  values: readonly number[];
}

interface ChartProps {
  /** What the chart shows, for screen readers. */
  label: string;
  /** The beginnings of the intervals, as in the API. */
  times: readonly string[];
  series: readonly ChartSeries[];
  /** How a time is written in the table. */
  timeText: (at: string) => string;
}

const Plot = lazy(async () => ({ default: (await import('./plot.tsx')).Plot }));

/** Figures over time as lines, with the same figures in a table. */
export function Chart(props: ChartProps) {
  const [asTable, setAsTable] = useState(false);
  return (
    <figure className="chart" aria-label={props.label}>
      <div className="chart-frame">
        <Suspense fallback={<div className="loading">Loading…</div>}>
          <Plot times={props.times} series={props.series} />
        </Suspense>
      </div>
      <button
        type="button"
        className="button quiet"
        aria-expanded={asTable}
        onClick={() => setAsTable(!asTable)}
      >
        {asTable ? 'Hide the table' : 'Show as a table'}
      </button>
      {asTable && <FigureTable {...props} />}
    </figure>
  );
}

function FigureTable({ label, times, series, timeText }: ChartProps) {
  return (
    <div className="table-frame">
      <table aria-label={label}>
        <thead>
          <tr>
            <th scope="col">Time</th>
            {series.map(({ name }) => (
              <th key={name} scope="col" className="right">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((at, index) => (
            <tr key={at}>
              <th scope="row">{timeText(at)}</th>
              {series.map(({ name, values }) => (
                <td key={name} className="right">
                  {countText(values[index] ?? 0)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
