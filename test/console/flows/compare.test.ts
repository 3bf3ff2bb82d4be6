// The comparison of two versions of a flow finds each step that was added, removed, changed or moved.
import { describe, expect, it } from '@jest/globals';
import { compareSteps, type StepRow } from '../../../console/src/pages/flows/editor/compare.ts';
import type { Step } from '../../../console/src/pages/flows/editor/model.ts';

const wait = (id: number, duration = 60): Step => ({ type: 'wait', id, duration });
const condition = (id: number, yes: Step[], no: Step[] = []): Step => ({
  ...{ type: 'condition', id, filters: [] },
  ...{ yes, no },
});

const textOf = ({ left, right, change, begins, level }: StepRow) =>
  [...begins, level, left?.id ?? left?.ref ?? '-', right?.id ?? right?.ref ?? '-', change].join(' ');
const compare = (left: Step[], right: Step[]) => compareSteps(left, right).rows.map(textOf);

describe('the comparison of two versions', () => {
  it('finds nothing in equal steps, whatever the order of their fields', () => {
    const one = [wait(1), condition(2, [wait(3)])];
    const other = [{ duration: 60, id: 1, type: 'wait' } as Step, condition(2, [wait(3)])];
    expect(compare(one, other)).toEqual(['1 1 1 same', '1 2 2 same', 'yes 2 3 3 same']);
  });

  it('does not count a field that is null as one that is absent', () => {
    const email: Step = { type: 'email', id: 1, subject: 'Hi', template_id: 7 };
    expect(compare([email], [{ ...email, preheader: null, template_id: 8 }])).toEqual(['1 1 1 same']);
  });

  it('says which fields of a step have changed', () => {
    const { rows, counts } = compareSteps([wait(1, 60)], [wait(1, 120)]);
    expect(rows[0]).toMatchObject({
      change: 'changed',
      fields: [{ field: 'duration', before: 60, after: 120 }],
    });
    expect(counts).toMatchObject({ changed: 1, same: 0 });
  });

  it('compares the weights of a split apart from the steps in its branches', () => {
    const split = (weights: number[], inner: Step[]): Step => ({
      ...{ type: 'split', id: 1 },
      branches: weights.map((weight) => ({ weight, steps: inner })),
    });
    const { rows } = compareSteps([split([50, 50], [])], [split([60, 40], [])]);
    expect(rows[0]?.fields).toEqual([{ field: 'weights', before: [50, 50], after: [60, 40] }]);
    const [first, ...others] = compareSteps([split([100], [])], [split([100], [wait(2)])]).rows;
    expect(first?.change).toBe('same');
    expect(others.map(textOf)).toEqual(['100 % 2 - 2 added']);
  });

  it('places added and removed steps between those that both have', () => {
    const added: Step = { type: 'wait', ref: 'wait_1', duration: 5 };
    expect(compare([wait(1), wait(2), wait(3)], [wait(1), added, wait(3)])).toEqual([
      '1 1 1 same',
      '1 2 - removed',
      '1 - wait_1 added',
      '1 3 3 same',
    ]);
  });

  it('shows a moved step where it was and where it is, and counts it once', () => {
    const { rows, counts } = compareSteps([wait(1), wait(2), wait(3)], [wait(2), wait(3), wait(1, 90)]);
    expect(rows.map(textOf)).toEqual(['1 1 - moved', '1 2 2 same', '1 3 3 same', '1 - 1 moved']);
    expect(rows[3]?.fields).toEqual([{ field: 'duration', before: 60, after: 90 }]);
    expect(counts).toEqual({ same: 2, moved: 1, changed: 0, added: 0, removed: 0 });
  });

  it('finds a step that was moved into a branch, and those that went with it', () => {
    const inner = condition(2, [wait(3)]);
    expect(compare([inner, condition(4, [])], [condition(4, [inner])])).toEqual([
      '1 2 - moved',
      'yes 2 3 - moved',
      '1 4 4 same',
      'yes 2 - 2 moved',
      'yes 3 - 3 moved',
    ]);
  });

  it('finds what stood in a removed step and is still in the flow', () => {
    expect(compare([condition(1, [wait(2)], [wait(3)])], [wait(3)])).toEqual([
      '1 1 - removed',
      'yes 2 2 - removed',
      'no 2 3 - moved',
      '1 - 3 moved',
    ]);
  });
});
