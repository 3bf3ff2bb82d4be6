// Quiet hours end at the right local time, even across clock changes.
import { expect, it } from '@jest/globals';
import { quietUntil } from '../../../../src/features/flows/run/quiet-hours.ts';

const until = (start: string, end: string, at: string, timezone = 'UTC', contact = 'UTC') =>
  quietUntil({ quiet_hours: { start, end, timezone } }, contact, new Date(at))?.toISOString() ?? null;

it.each([
  ['21:00', '08:00', '2026-03-10T20:59:59Z', null],
  ['21:00', '08:00', '2026-03-10T21:00:00Z', '2026-03-11T08:00:00.000Z'],
  ['21:00', '08:00', '2026-03-11T00:30:12.345Z', '2026-03-11T08:00:00.000Z'],
  ['21:00', '08:00', '2026-03-11T07:59:59.999Z', '2026-03-11T08:00:00.000Z'],
  ['21:00', '08:00', '2026-03-11T08:00:00Z', null],
  ['12:00', '13:30', '2026-03-11T12:10:00Z', '2026-03-11T13:30:00.000Z'],
  ['12:00', '13:30', '2026-03-11T13:30:00Z', null],
  ['00:00', '06:00', '2026-03-11T00:00:00Z', '2026-03-11T06:00:00.000Z'],
  ['22:00', '00:00', '2026-03-11T23:00:00Z', '2026-03-12T00:00:00.000Z'],
])('from %s to %s, %s waits until %s', (start, end, at, expected) => {
  expect(until(start, end, at)).toBe(expected);
});

it('are those of the brand or of the contact', () => {
  expect(until('21:00', '08:00', '2026-03-10T12:00:00Z', 'Asia/Tokyo')).toBe('2026-03-10T23:00:00.000Z');
  expect(until('21:00', '08:00', '2026-03-10T12:00:00Z', 'contact', 'Asia/Tokyo')).toBe(
    '2026-03-10T23:00:00.000Z',
  );
  expect(until('21:00', '08:00', '2026-03-10T12:00:00Z', 'contact', 'Europe/Berlin')).toBeNull();
});

it('end on time in the night of a clock change', () => {
  // Berlin: 02:00 becomes 03:00 on 2026-03-29, and 03:00 becomes 02:00 on 2026-10-25.
  expect(until('21:00', '08:00', '2026-03-28T22:00:00Z', 'Europe/Berlin')).toBe('2026-03-29T06:00:00.000Z');
  expect(until('21:00', '08:00', '2026-10-24T22:00:00Z', 'Europe/Berlin')).toBe('2026-10-25T07:00:00.000Z');
});

it('end if the clocks skip their end, and again if it comes twice', () => {
  expect(until('21:00', '02:30', '2026-03-28T22:00:00Z', 'Europe/Berlin')).toBe('2026-03-29T01:00:00.000Z');
  expect(until('21:00', '02:30', '2026-10-24T22:00:00Z', 'Europe/Berlin')).toBe('2026-10-25T00:30:00.000Z');
  expect(until('21:00', '02:30', '2026-10-25T01:10:00Z', 'Europe/Berlin')).toBe('2026-10-25T01:30:00.000Z');
});

it('never apply to a brand without them', () => {
  expect(quietUntil({ quiet_hours: null }, 'UTC', new Date())).toBeNull();
});
