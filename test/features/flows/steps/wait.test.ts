// A wait ends at its time: after some seconds, at a local time, or at a date of the contact.
import { describe, expect, it } from '@jest/globals';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { advance, begin, NOON } from '../run/advancing.ts';

describe('a wait', () => {
  const days: Step = { type: 'wait', id: 1, duration: 86_400 };
  const until = (rest: object) => ({ type: 'wait', id: 1, until: rest }) as Step;
  const field = (rest: object = {}) => until({ field: 'data.due', ...rest });

  it('ends at its time and not before', async () => {
    const halt = await begin([days]);
    expect(halt).toMatchObject({ halt: 'wait', record: { wait: { until: '2026-03-11T12:00:00.000Z' } } });
    const early = await advance([days], halt.record, { asOf: '2026-03-11T11:59:59.999Z' });
    expect([early.halt, early.record]).toEqual(['wait', halt.record]);
    const due = await advance([days], halt.record, { asOf: '2026-03-11T12:00:00Z' });
    expect(due).toMatchObject({ halt: 'end', context: { path: ['1 done'] } });
  });

  it('uses the zone of the contact unless another is given', async () => {
    const times = [until({ time: '09:00' }), until({ time: '09:00', timezone: 'contact' })];
    for (const step of times) {
      expect(await begin([step], { timezone: 'Asia/Tokyo' })).toMatchObject({
        record: { wait: { until: '2026-03-11T00:00:00.000Z' } },
      });
    }
    const berlin = until({ time: '09:00', timezone: 'Europe/Berlin', weekdays: [5] });
    expect(await begin([berlin])).toMatchObject({ record: { wait: { until: '2026-03-13T08:00:00.000Z' } } });
  });

  it('continues at once if its date is missing or has passed, or ends the run if configured', async () => {
    const cases = [
      [null, {}, '1 missing', 'end'],
      [NOON, {}, '1 passed', 'end'],
      ['2026-03-11T00:00:00Z', { offset_seconds: -86_400 }, '1 passed', 'end'],
      [null, { if_past: 'exit' }, '1 missing', 'date_missing'],
      [NOON, { if_past: 'exit' }, '1 passed', 'date_passed'],
    ] as const;
    for (const [time, rest, path, reason] of cases) {
      const halt = await begin([field(rest)], { time });
      expect([halt.context.path, halt]).toEqual([[path], expect.objectContaining({ halt: 'end', reason })]);
    }
  });

  it('ends the run if its date cannot be read, unless configured to continue', async () => {
    const cases = [
      ['12-04-2022', {}, 'date_unreadable'],
      ['12-04-2022', { if_past: 'continue' }, 'date_unreadable'],
      [{ at: 1 }, { if_unreadable: 'exit' }, 'date_unreadable'],
      ['morgen', { if_past: 'exit', if_unreadable: 'continue' }, 'end'],
    ] as const;
    for (const [unreadable, rest, reason] of cases) {
      const halt = await begin([field(rest)], { time: { unreadable } });
      expect([halt.context.path, halt]).toEqual([
        ['1 unreadable'],
        expect.objectContaining({ halt: 'end', reason }),
      ]);
    }
  });

  it('says in the path what an unreadable date looks like, without its digits and letters', async () => {
    const shapes = [
      ['12-04-2022 10:00 Uhr', '99-99-9999 99:99 aaa'],
      [20260131, '99999999'],
      [['2026-01-31'], 'an array'],
      ['x'.repeat(100), `${'a'.repeat(40)}…`],
    ] as const;
    for (const [unreadable, shape] of shapes) {
      const { context } = await begin([field()], { time: { unreadable } });
      expect(context.details).toEqual([{ reason: 'not_a_time', field: 'data.due', shape }]);
    }
  });

  it('ends the run if its date has become unreadable in the meantime', async () => {
    const { record } = await begin([field()], { time: '2026-03-11T00:00:00Z' });
    const due = { asOf: '2026-03-11T00:00:00Z', time: { unreadable: 'next week' } };
    expect(await advance([field()], record, due)).toMatchObject({ halt: 'end', reason: 'date_unreadable' });
    const goesOn = await advance([field({ if_unreadable: 'continue' })], record, due);
    expect(goesOn).toMatchObject({ halt: 'end', state: 'completed' });
  });

  it('continues to wait if its date has been postponed in the meantime', async () => {
    const first = await begin([field({ offset_seconds: 60 })], { time: '2026-03-11T00:00:00Z' });
    expect(first).toMatchObject({ record: { wait: { until: '2026-03-11T00:01:00.000Z' } } });
    const asOf = '2026-03-11T00:01:00Z';
    const later = await advance([field()], first.record, { asOf, time: '2026-03-20T00:00:00Z' });
    expect(later).toMatchObject({ halt: 'wait', record: { wait: { until: '2026-03-20T00:00:00.000Z' } } });
    const removed = await advance([field({ if_past: 'exit' })], first.record, { asOf, time: null });
    expect(removed).toMatchObject({ halt: 'end', state: 'completed', context: { path: ['1 done'] } });
  });
});
