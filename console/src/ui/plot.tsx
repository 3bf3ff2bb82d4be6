import { useEffect, useRef } from 'react';
import UPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { ChartSeries } from './chart.tsx';

const HEIGHT = 240;
/** Names of custom properties of the style sheet, in the order of the series. */
const COLOURS = [
  '--series-1',
  '--series-2',
  '--series-3',
  '--series-4',
  '--series-5',
  '--series-6',
  '--series-7',
];

const colourOf = (name: string) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim() || '#888';

/** Lines over time. The table beside it has the same figures, so it is hidden from screen readers. */
export function Plot({ times, series }: { times: readonly string[]; series: readonly ChartSeries[] }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const target = element.current;
    if (!target) return undefined;
    const axis = {
      stroke: colourOf('--muted'),
      grid: { stroke: colourOf('--line') },
      ticks: { stroke: colourOf('--line') },
    };
    const plot = new UPlot(
      {
        width: target.clientWidth,
        height: HEIGHT,
        axes: [axis, axis],
        series: [
          {},
          ...series.map(({ name }, index) => ({
            label: name,
            stroke: colourOf(COLOURS[index % COLOURS.length] ?? '--muted'),
            width: 2,
          })),
        ],
      },
      [times.map((at) => Date.parse(at) / 1000), ...series.map(({ values }) => [...values])],
      target,
    );
    const observer = new ResizeObserver(() => plot.setSize({ width: target.clientWidth, height: HEIGHT }));
    observer.observe(target);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [times, series]);
  return <div ref={element} aria-hidden="true" />;
}
