/** Small pieces of pages: states, times, amounts, pairs of name and value. */
import type { ReactNode } from 'react';
import type { Tone } from './notice.tsx';
import { countText, shareText } from './numbers.ts';

export { centsText, countText, shareText } from './numbers.ts';

const TONES: Record<string, Tone> = {
  active: 'good',
  approved: 'good',
  clicked: 'good',
  completed: 'good',
  current: 'good',
  delivered: 'good',
  deliverable: 'good',
  on: 'good',
  opened: 'good',
  sent: 'good',
  verified: 'good',
  open: 'good',
  bounced: 'bad',
  complained: 'bad',
  failed: 'bad',
  rejected: 'bad',
  unknown: 'bad',
  undeliverable: 'bad',
  off: 'bad',
  held: 'warn',
  paused: 'warn',
  pending: 'warn',
  retrying: 'warn',
  risky: 'warn',
  suppressed: 'warn',
  processing: 'busy',
  queued: 'busy',
  running: 'busy',
  scraping: 'busy',
  sending: 'busy',
  waiting: 'busy',
};

/** A state of a resource, as the API names it. */
export function StatusBadge({ status, tone }: { status: string; tone?: Tone }) {
  return <span className={`badge ${tone ?? TONES[status] ?? 'quiet'}`}>{status.replaceAll('_', ' ')}</span>;
}

const absolute = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' });
const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

function distance(at: Date): string {
  const seconds = (at.getTime() - Date.now()) / 1000;
  const [unit, size] = UNITS.find(([, each]) => Math.abs(seconds) >= each) ?? ['second', 1];
  return relative.format(Math.round(seconds / size), unit);
}

/** A time in the zone of the viewer. @param at as in the API: ISO 8601, in UTC */
export function Time({ at, full = false }: { at: string | null | undefined; full?: boolean }) {
  if (at === null || at === undefined) return <span className="muted">–</span>;
  const date = new Date(at);
  return (
    <time dateTime={at} title={`${absolute.format(date)} (${at})`}>
      {full ? absolute.format(date) : distance(date)}
    </time>
  );
}

/** Names with their values; those without a value show a dash. */
export function DetailList({ items }: { items: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="details">
      {items.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            {value === null || value === undefined || value === '' ? <span className="muted">–</span> : value}
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function Card({
  title,
  actions,
  children,
}: {
  title?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}) {
  return (
    <section className="card">
      {(title !== undefined || actions !== undefined) && (
        <header>
          {title !== undefined && <h2>{title}</h2>}
          {actions !== undefined && <div className="actions">{actions}</div>}
        </header>
      )}
      {children}
    </section>
  );
}

/** The progress of long work. */
export function Progress({ done, total, label }: { done: number; total: number; label: string }) {
  return (
    <div className="progress">
      <progress value={done} max={Math.max(total, 1)} aria-label={label} />
      <span>
        {countText(done)} of {countText(total)} ({shareText(done, total)})
      </span>
    </div>
  );
}
