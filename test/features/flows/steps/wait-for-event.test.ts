// A wait for an event takes the first event that counts, or the other branch at its end.
import { describe, expect, it } from '@jest/globals';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { advance, begin, email, NOON, waiting } from '../run/advancing.ts';

const END = '2026-03-10T13:00:00.000Z';
const waitFor: Step = {
  type: 'wait_for_event',
  id: 1,
  event_name: 'bought',
  duration: 3_600,
  filters: [{}],
  yes: [email(2)],
  no: [email(3)],
};
const event = (until = END) => waiting(1, { for: 'event', eventName: 'bought', until });

describe('a wait for an event', () => {
  it('registers, and waits', async () => {
    const halt = await begin([waitFor]);
    expect(halt).toMatchObject({ halt: 'wait', record: { wait: { for: 'event', until: END } } });
    expect(halt.context.calls).toEqual(['await 1']);
  });

  it('takes an earlier event that counts', async () => {
    const halt = await begin([waitFor], { earlier: ['2026-03-09T00:00:00Z', NOON], refused: [0] });
    expect(halt.context.path).toEqual(['1 yes', '2 sent']);
    expect(halt.context.calls).toEqual(['await 1', 'end 1', 'email 2']);
  });

  it('takes the first event that its filters accept', async () => {
    const arrivals = ['2026-03-10T12:10:00Z', '2026-03-10T12:20:00Z'];
    const asOf = '2026-03-10T12:20:01Z';
    expect((await advance([waitFor], event(), { asOf, arrivals, refused: [0] })).context.path[0]).toBe(
      '1 yes',
    );
    const refused = await advance([waitFor], event(), { asOf, arrivals, refused: [0, 1] });
    expect(refused).toMatchObject({ halt: 'wait', record: { wait: { until: END } } });
  });

  it('prefers an event before its end to the time-out, however late it reads', async () => {
    const late = { asOf: '2026-04-01T00:00:00Z' };
    const inTime = await advance([waitFor], event(), { ...late, arrivals: [END] });
    expect(inTime.context.path).toEqual(['1 yes', '2 sent']);
    const after = await advance([waitFor], event(), { ...late, arrivals: ['2026-03-10T13:00:00.001Z'] });
    expect(after.context.path).toEqual(['1 timeout', '3 sent']);
    expect(after.context.calls[0]).toBe('end 1');
  });

  it('takes the branch no at its end', async () => {
    expect((await advance([waitFor], event(), { asOf: END })).context.path).toEqual(['1 timeout', '3 sent']);
  });

  it('registers again if a new version waits for another event', async () => {
    const halt = await advance([{ ...waitFor, event_name: 'seen' }], event(), { arrivals: [NOON] });
    expect(halt.context.calls).toEqual(['await 1']);
    expect(halt).toMatchObject({ halt: 'wait', record: { wait: { eventName: 'seen' } } });
  });
});
