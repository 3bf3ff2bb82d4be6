// A condition takes one of two branches, depending on whether the contact matches its filters.
import { describe, expect, it } from '@jest/globals';
import type { Step } from '../../../../src/features/flows/steps/index.ts';
import { begin, email } from '../run/advancing.ts';

describe('a condition', () => {
  const condition: Step = { type: 'condition', id: 1, filters: [{}], yes: [email(2)], no: [email(3)] };

  it.each([
    [true, ['1 yes', '2 sent', '4 sent']],
    [false, ['1 no', '3 sent', '4 sent']],
  ])('takes a branch and then continues: %s', async (matches, path) => {
    expect((await begin([condition, email(4)], { matches })).context.path).toEqual(path);
  });

  it('continues at once if the branch is empty', async () => {
    const halt = await begin([{ ...condition, no: [] }, email(4)], { matches: false });
    expect(halt.context.path).toEqual(['1 no', '4 sent']);
  });
});
