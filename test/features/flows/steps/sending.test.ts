// A step that sends waits for the end of quiet hours, and ends the run of a contact who is unsubscribed.
import { describe, expect, it } from '@jest/globals';
import { advance, begin, email, NOON, waiting } from '../run/advancing.ts';

describe('a step that sends', () => {
  it('waits for the end of quiet hours, several times if necessary', async () => {
    const halt = await begin([email(1)], { quietUntil: '2026-03-11T07:00:00Z' });
    expect(halt).toMatchObject({
      halt: 'wait',
      record: { wait: { for: 'quiet_hours' } },
      context: { calls: [] },
    });
    const again = { asOf: '2026-03-11T07:00:00Z', quietUntil: '2026-03-11T08:00:00Z' };
    expect(await advance([email(1)], halt.record, again)).toMatchObject({ halt: 'wait' });
    const sent = await advance([email(1)], halt.record, { asOf: again.asOf });
    expect(sent.context.calls).toEqual(['email 1']);
  });

  it('checks after quiet hours whether the run must end', async () => {
    const record = waiting(1, { for: 'quiet_hours', until: NOON });
    const halt = await advance([email(1)], record, { mustExit: 'exit_filters' });
    expect(halt).toMatchObject({ halt: 'end', reason: 'exit_filters', context: { calls: [] } });
  });

  it('continues if it is skipped, and ends the run if the contact is unsubscribed', async () => {
    const skipped = await begin([email(1), email(2)], { send: { outcome: 'skipped' } });
    expect(skipped).toMatchObject({ state: 'completed', context: { path: ['1 skipped', '2 skipped'] } });
    const ended = await begin([email(1), email(2)], { send: { exit: 'unsubscribed' } });
    expect(ended).toMatchObject({
      state: 'exited',
      reason: 'unsubscribed',
      context: { path: ['1 skipped'] },
    });
  });
});
