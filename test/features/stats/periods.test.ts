// Points of series begin when the clocks of the zone show a new day or a full hour, also when they are changed.
import { describe, expect, it } from '@jest/globals';
import { DAY_MS, dayStart, HOUR_MS, pointStarts, QUARTER_MS } from '../../../src/features/stats/periods.ts';

const at = (text: string) => Date.parse(text);
const iso = (times: readonly number[]) => times.map((time) => new Date(time).toISOString().slice(0, 16));

/** What clocks show, by a way of its own. */
function shown(time: number, zone: string): string {
  return new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' }).format(
    time,
  );
}

describe('days', () => {
  it.each([
    ['UTC', '2026-03-01', '2026-03-01T00:00'],
    ['Asia/Kolkata', '2026-03-01', '2026-02-28T18:30'],
    ['Asia/Kathmandu', '2026-03-01', '2026-02-28T18:15'],
    ['America/New_York', '2026-03-09', '2026-03-09T04:00'],
    // Clocks skip midnight, and the day begins at 01:00.
    ['Asia/Beirut', '2026-03-29', '2026-03-28T22:00'],
    // Clocks show midnight twice.
    ['America/Havana', '2026-11-01', '2026-11-01T04:00'],
    // Clocks go back at midnight, and show the last hour of the day before twice.
    ['Asia/Beirut', '2026-10-25', '2026-10-24T22:00'],
    ['Pacific/Kiritimati', '2026-03-01', '2026-02-28T10:00'],
  ])('begin in %s on %s at %s', (zone, date, start) => {
    expect(iso([dayStart(at(`${date}T00:00Z`), zone)])).toEqual([start]);
  });

  it('have one point each, whatever the clocks do', () => {
    for (const zone of [
      'Europe/Berlin',
      'America/Havana',
      'Australia/Lord_Howe',
      'Asia/Kathmandu',
      'Africa/Cairo',
    ]) {
      const [from, to] = [dayStart(at('2026-01-01T00:00Z'), zone), dayStart(at('2027-01-01T00:00Z'), zone)];
      const starts = pointStarts(from, to, 'day', zone);
      expect(starts).toHaveLength(365);
      for (const start of starts) {
        const day = shown(start, zone).slice(0, 10);
        expect(shown(start - QUARTER_MS, zone) < day).toBe(true);
      }
    }
  });

  it('have no point if the zone skipped them', () => {
    const starts = pointStarts(at('2011-12-29T10:00Z'), at('2012-01-01T10:00Z'), 'day', 'Pacific/Apia');
    expect(iso(starts)).toEqual(['2011-12-29T10:00', '2011-12-30T10:00', '2011-12-31T10:00']);
  });

  it('begin with the period, even within a day', () => {
    const starts = pointStarts(at('2026-03-01T05:15Z'), at('2026-03-03T01:00Z'), 'day', 'UTC');
    expect(iso(starts)).toEqual(['2026-03-01T05:15', '2026-03-02T00:00', '2026-03-03T00:00']);
  });
});

describe('hours', () => {
  it('begin when clocks show a full hour', () => {
    expect(
      iso(pointStarts(at('2026-03-01T00:00Z'), at('2026-03-01T02:00Z'), 'hour', 'Asia/Kathmandu')),
    ).toEqual(['2026-03-01T00:00', '2026-03-01T00:15', '2026-03-01T01:15']);
  });

  it('are shorter or longer if clocks are changed by half an hour', () => {
    for (const change of ['2026-04-04T15:00Z', '2026-10-03T15:30Z']) {
      const [from, to] = [at(change) - 6 * HOUR_MS, at(change) + 6 * HOUR_MS];
      const starts = pointStarts(from, to, 'hour', 'Australia/Lord_Howe');
      for (const start of starts.slice(1)) expect(shown(start, 'Australia/Lord_Howe')).toMatch(/:00$/);
      const quarters = Array.from(
        { length: (to - from) / QUARTER_MS - 1 },
        (_, n) => from + (n + 1) * QUARTER_MS,
      );
      const full = quarters.filter((time) => shown(time, 'Australia/Lord_Howe').endsWith(':00'));
      expect(iso(starts)).toEqual(iso([from, ...full]));
    }
  });

  it('cover a day of 25 hours', () => {
    const from = dayStart(at('2026-10-25T00:00Z'), 'Europe/Berlin');
    const to = dayStart(at('2026-10-25T00:00Z') + DAY_MS, 'Europe/Berlin');
    expect(pointStarts(from, to, 'hour', 'Europe/Berlin')).toHaveLength(25);
  });
});
