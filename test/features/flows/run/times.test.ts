// The next local time is right in every time zone, even across clock changes and skipped days.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { contactTimezone, nextLocalTime } from '../../../../src/features/flows/run/times.ts';

const next = (after: string, time: string, timezone: string, weekdays?: number[]) =>
  nextLocalTime(new Date(after), { time, ...(weekdays && { weekdays }) }, timezone).toISOString();

describe('the next local time', () => {
  it('is later today, or tomorrow if it has passed', () => {
    expect(next('2026-06-01T06:59:59.999Z', '09:00', 'Europe/Berlin')).toBe('2026-06-01T07:00:00.000Z');
    expect(next('2026-06-01T07:00:00.001Z', '09:00', 'Europe/Berlin')).toBe('2026-06-02T07:00:00.000Z');
  });

  it('is tomorrow if it is exactly now', () => {
    expect(next('2026-06-01T07:00:00Z', '09:00', 'Europe/Berlin')).toBe('2026-06-02T07:00:00.000Z');
  });

  it('is on one of the weekdays of the zone', () => {
    // In New York it is still Sunday evening.
    expect(next('2026-06-01T01:00:00Z', '23:00', 'America/New_York', [7])).toBe('2026-06-01T03:00:00.000Z');
    expect(next('2026-06-01T01:00:00Z', '20:00', 'America/New_York', [7])).toBe('2026-06-08T00:00:00.000Z');
    expect(next('2026-06-01T01:00:00Z', '09:00', 'America/New_York', [1, 3])).toBe(
      '2026-06-01T13:00:00.000Z',
    );
    expect(next('2026-06-01T14:00:00Z', '09:00', 'America/New_York', [1, 3])).toBe(
      '2026-06-03T13:00:00.000Z',
    );
  });

  it('is the next valid minute if the clocks skip it', () => {
    // From 02:00 to 03:00.
    expect(next('2026-03-28T12:00:00Z', '02:30', 'Europe/Berlin')).toBe('2026-03-29T01:00:00.000Z');
    expect(next('2026-03-07T12:00:00Z', '02:00', 'America/New_York')).toBe('2026-03-08T07:00:00.000Z');
    // From 02:00 to 02:30.
    expect(next('2026-10-03T00:00:00Z', '02:15', 'Australia/Lord_Howe')).toBe('2026-10-03T15:30:00.000Z');
    // Midnight to 01:00.
    expect(next('2026-09-05T12:00:00Z', '00:30', 'America/Santiago')).toBe('2026-09-06T04:00:00.000Z');
  });

  it('is the first of two, and not the second on the same day', () => {
    // From 03:00 back to 02:00.
    expect(next('2026-10-24T12:00:00Z', '02:30', 'Europe/Berlin')).toBe('2026-10-25T00:30:00.000Z');
    expect(next('2026-10-25T00:30:00Z', '02:30', 'Europe/Berlin')).toBe('2026-10-26T01:30:00.000Z');
    expect(next('2026-10-25T00:45:00Z', '02:30', 'Europe/Berlin')).toBe('2026-10-26T01:30:00.000Z');
  });

  it('skips a day that a zone has left out', () => {
    expect(next('2011-12-29T20:00:00Z', '09:00', 'Pacific/Apia')).toBe('2011-12-30T10:00:00.000Z');
    expect(next('2011-12-30T10:00:00Z', '09:00', 'Pacific/Apia')).toBe('2011-12-30T19:00:00.000Z');
  });

  const zones = [
    ...['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'America/Santiago', 'Africa/Cairo'],
    ...['Asia/Kathmandu', 'America/St_Johns', 'Pacific/Chatham', 'Africa/Casablanca', 'UTC'],
  ];
  const MINUTE = 60_000;
  const DAY = 1_440 * MINUTE;
  const formats = new Map(
    zones.map((zone) => [
      zone,
      new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' }),
    ]),
  );

  /** Looks at the clock minute by minute. A time of a day has come as soon as the clock shows it or a later one. */
  function watched(after: Date, time: string, zone: string, weekdays: number[] | undefined): string {
    const format = formats.get(zone) as Intl.DateTimeFormat;
    const start = Math.floor(after.getTime() / MINUTE) * MINUTE - 2 * DAY;
    let latest = format.format(start);
    for (let at = start + MINUTE; ; at += MINUTE) {
      const shown = format.format(at);
      if (shown <= latest) continue;
      const days: string[] = [];
      for (let day = latest.slice(0, 10); day <= shown.slice(0, 10);) {
        days.push(day);
        day = new Date(Date.parse(day) + DAY).toISOString().slice(0, 10);
      }
      const come = days.filter((day) => `${day} ${time}` > latest && `${day} ${time}` <= shown);
      latest = shown;
      const isDay = come.some((day) => !weekdays || weekdays.includes(new Date(day).getUTCDay() || 7));
      if (isDay && at > after.getTime()) return new Date(at).toISOString();
    }
  }

  it('agrees with a simulated clock', () => {
    const spring = Date.UTC(2026, 2, 1) / MINUTE;
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        fc.integer({ min: spring, max: spring + 365 * 1_440 }),
        fc.integer({ min: 0, max: 1_439 }),
        fc.option(fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 3 }), {
          nil: undefined,
        }),
        (zone, minute, clock, weekdays) => {
          const two = (number: number) => String(number).padStart(2, '0');
          const time = `${two(Math.floor(clock / 60))}:${two(clock % 60)}`;
          const after = new Date(minute * MINUTE + 250);
          const found = nextLocalTime(after, { time, ...(weekdays && { weekdays }) }, zone).toISOString();
          expect(found).toBe(watched(after, time, zone, weekdays));
        },
      ),
      { numRuns: 60, seed: 60 },
    );
  });
});

describe('the time zone of a contact', () => {
  it('is its own, else that of its country, else that of the brand, else UTC', () => {
    expect(contactTimezone({ timezone: 'Asia/Tokyo', countryCode: 'DE' }, 'Europe/Paris')).toBe('Asia/Tokyo');
    expect(contactTimezone({ timezone: null, countryCode: 'de' }, 'Europe/Paris')).toBe('Europe/Berlin');
    expect(contactTimezone({ timezone: undefined, countryCode: 'XX' }, 'Europe/Paris')).toBe('Europe/Paris');
    expect(contactTimezone({ timezone: undefined, countryCode: null }, null)).toBe('UTC');
  });

  it('ignores invalid zones', () => {
    for (const timezone of ['', 'Nowhere/None', 7, {}, 'x'.repeat(100_000), '../etc', '\0']) {
      expect(contactTimezone({ timezone, countryCode: 'FR' }, null)).toBe('Europe/Paris');
    }
  });
});
