// An exit ends the run in all branches, with its reason.
import { describe, expect, it } from '@jest/globals';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { begin, email } from '../run/advancing.ts';

describe('an exit', () => {
  it('ends the run in all branches, with its reason', async () => {
    const inner: Step = { type: 'exit', id: 2, reason: 'converted' };
    const outer: Step = { type: 'condition', id: 1, filters: [], yes: [inner], no: [] };
    const halt = await begin([outer, email(3)]);
    expect(halt).toMatchObject({
      state: 'exited',
      reason: 'converted',
      context: { path: ['1 yes', '2 exit'] },
    });
    expect(await begin([{ type: 'exit', id: 1 }])).toMatchObject({ reason: 'exit' });
  });
});
