// The date filter formats times in the given zone, and leaves values that are not times unchanged.
import { describe, expect, it } from '@jest/globals';
import { formatDate } from '../../../../src/delivery/content/templates/dates.ts';

const NOW = Date.UTC(2026, 2, 29, 0, 30);

describe('the filter date', () => {
  it.each([
    ['2026-03-01T23:30:00Z', '%Y-%m-%d %H:%M %z', 'UTC', '2026-03-01 23:30 +0000'],
    ['2026-03-01T23:30:00Z', '%Y-%m-%d %H:%M %z', 'Europe/Berlin', '2026-03-02 00:30 +0100'],
    ['2026-03-29T01:00:00Z', '%H:%M %:z', 'Europe/Berlin', '03:00 +02:00'],
    ['2026-03-01T23:30:00+05:30', '%H:%M', 'UTC', '18:00'],
    ['2026-03-01', '%d.%m.%Y %H:%M', 'America/New_York', '01.03.2026 00:00'],
    ['2026-03-01 12:00', '%-I %P', 'Asia/Tokyo', '12 pm'],
    ['Mar 1, 2026', '%F', 'America/New_York', '2026-03-01'],
    ['Sun, 01 Mar 2026 23:30:00 GMT', '%F %T', 'Asia/Tokyo', '2026-03-02 08:30:00'],
    [1_772_323_200, '%F %s', 'UTC', '2026-03-01 1772323200'],
    ['1772323200', '%F', 'UTC', '2026-03-01'],
    [1_772_323_200_000, '%F', 'UTC', '2026-03-01'],
    ['20260131', '%d.%m.%Y', 'UTC', '31.01.2026'],
    ['2027-06-30 12:00:00 +0100', '%H:%M', 'Europe/Berlin', '13:00'],
    ['2027-06-30 12:00', '%H:%M', 'Europe/Berlin', '12:00'],
    ['Jun 30, 2027 1:00 PM', '%F %H:%M', 'Asia/Tokyo', '2027-06-30 13:00'],
    ['Sunday, March 1, 2026 at 12:00 am +0000', '%F', 'UTC', '2026-03-01'],
    ['now', '%F %R', 'America/New_York', '2026-03-28 20:30'],
    [
      '2026-03-01T00:00:00Z',
      '%A %a %B %b %e %j %y %U %V %u %q %%',
      'UTC',
      'Sunday Sun March Mar  1 060 26 09 09 7 st %',
    ],
    ['2026-03-01T00:00:00Z', '%^a %-m %_m %05d %Q', 'UTC', 'SUN 3  3 00001 %Q'],
    ['2026-03-01T00:00:00Z', '', 'UTC', 'Sunday, March 1, 2026 at 12:00 am +0000'],
    ['2026-03-01T00:00:00Z', '%F', 'No/Zone', '2026-03-01'],
    ['1969-12-31T23:59:59.250Z', '%T.%L', 'Asia/Kolkata', '05:29:59.250'],
  ])('shows %j as %j in %s', (value, format, zone, expected) => {
    expect(formatDate(value, format, zone, NOW)).toBe(expected);
  });

  it.each([
    'tomorrow-ish',
    '2026-13-45',
    'x'.repeat(1_000),
    1e20,
    {},
    true,
    '',
    // V8 reads these as another day than those who wrote them.
    '12-04-2022',
    '12/04/2022',
    '12.04.2022 10:00',
    20_260_131,
    '2027-02-29',
    '1',
    '2026-03',
  ] as unknown[])('leaves %j unchanged, which is not a time', (value) => {
    expect(formatDate(value, '%F', 'UTC', NOW)).toBeUndefined();
  });
});
