// Clocks of zones show what Intl says, at any time from 1900 to 2100, and unknown zones show nothing.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createTimeZones } from '../../../src/platform/input/time-zones.ts';

const timeZones = createTimeZones(10);

describe('the clocks of a zone', () => {
  const times = fc.integer({ min: Date.UTC(1900), max: Date.UTC(2100) });
  const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'));

  it('show the local time, in whole seconds', () => {
    fc.assert(
      fc.property(times, zones, (time, zone) => {
        const local = new Date(time).toLocaleString('sv-SE', { timeZone: zone });
        expect(timeZones.shownAt(time, zone)).toBe(Date.parse(`${local.replace(' ', 'T')}Z`));
      }),
      { numRuns: 1_000 },
    );
  });

  it('show midnight as hour 0', () => {
    const midnight = Date.UTC(2026, 2, 1);
    expect(timeZones.shownAt(midnight, 'UTC')).toBe(midnight);
  });
});

describe('a name that is of no zone', () => {
  it.each(['Mars/Olympus', '', 'x'.repeat(10_000)])('shows nothing: %.20s', (zone) => {
    expect(timeZones.exists(zone)).toBe(false);
    expect(timeZones.shownAt(0, zone)).toBeNull();
  });
});
