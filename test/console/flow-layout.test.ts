// In the layout of a flow no box covers another, and every branch leads on or ends.
import { describe, expect, it } from '@jest/globals';
import {
  BOX,
  layOutFlow,
  type FlowLayout,
  type LaidOutStep,
} from '../../console/src/pages/flows/flow-layout.ts';

type Layout = FlowLayout<LaidOutStep>;

let lastId = 0;
const step = (type: string, more: Partial<LaidOutStep> = {}): LaidOutStep => ({
  id: ++lastId,
  type,
  ...more,
});
const stepsOf = (build: () => LaidOutStep[]): LaidOutStep[] => {
  lastId = 0;
  return build();
};

const placeOf = (layout: Layout, id: number) => {
  const found = layout.steps.find((placed) => placed.step.id === id);
  if (!found) throw new Error(`step ${id} was not placed`);
  return found;
};

const middleOf = (layout: Layout, id: number) => placeOf(layout, id).x + BOX.width / 2;

/** The edges that lead to a step, as the branches they come from. */
const waysTo = (layout: Layout, to: number | null) =>
  layout.edges
    .filter((edge) => edge.to === to)
    .map(({ branch }) => branch && `${branch.step} ${branch.outcome}`);

const overlaps = ({ steps }: Layout) =>
  steps.flatMap((a, index) =>
    steps
      .slice(index + 1)
      .filter((b) => Math.abs(a.x - b.x) < BOX.width && Math.abs(a.y - b.y) < BOX.height)
      .map((b) => `${a.step.id} and ${b.step.id}`),
  );

describe('the layout of a flow', () => {
  it('leads from the trigger to the end if there are no steps', () => {
    const layout = layOutFlow([]);
    expect(layout.edges).toHaveLength(1);
    expect(layout.edges[0]).toMatchObject({ to: null, branch: null });
    expect(layout.end).not.toBeNull();
  });

  it('places a sequence from top to bottom on one axis', () => {
    const layout = layOutFlow(stepsOf(() => [step('email'), step('wait'), step('sms')]));
    expect(new Set([1, 2, 3].map((id) => middleOf(layout, id))).size).toBe(1);
    expect(placeOf(layout, 1).y).toBeLessThan(placeOf(layout, 2).y);
    expect(placeOf(layout, 2).y).toBeLessThan(placeOf(layout, 3).y);
    expect(layout.edges.map(({ to }) => to)).toEqual([1, 2, 3, null]);
  });

  it('lets branches meet above the step that follows, an empty one too', () => {
    const layout = layOutFlow(
      stepsOf(() => [step('condition', { yes: [step('email')], no: [] }), step('event')]),
    );
    // The condition was built after the step in it.
    expect(waysTo(layout, 3)).toEqual(['2 yes', '2 no', null]);
    const [yes, no, on] = layout.edges.filter(({ to }) => to === 3).map(({ points }) => points);
    expect(yes?.at(-1)).toEqual(no?.at(-1));
    expect(on?.[0]).toEqual(yes?.at(-1));
    expect(on?.at(-1)).toEqual({ x: middleOf(layout, 3), y: placeOf(layout, 3).y });
  });

  it('draws no way back from a branch that ends in an exit', () => {
    const layout = layOutFlow(
      stepsOf(() => [step('wait_for_event', { yes: [step('exit')], no: [step('sms')] }), step('email')]),
    );
    expect(waysTo(layout, 4)).toEqual(['3 timeout', null]);
    expect(layout.end).not.toBeNull();
  });

  it('has no end if every branch exits, and leads to no step behind them', () => {
    const layout = layOutFlow(
      stepsOf(() => [step('condition', { yes: [step('exit')], no: [step('exit')] }), step('email')]),
    );
    expect(waysTo(layout, 4)).toEqual([]);
    // The unreachable step is still shown, and it leads to the end.
    expect(placeOf(layout, 4).y).toBeGreaterThan(placeOf(layout, 3).y);
    const onlyExits = layOutFlow(
      stepsOf(() => [step('condition', { yes: [step('exit')], no: [step('exit')] })]),
    );
    expect(onlyExits.end).toBeNull();
    expect(waysTo(onlyExits, null)).toEqual([]);
  });

  it('leads from an inner branch to the step behind the outer one', () => {
    const layout = layOutFlow(
      stepsOf(() => [
        step('condition', { yes: [step('condition', { yes: [step('email')], no: [] })], no: [] }),
        step('event'),
      ]),
    );
    // 1 is the email, 2 the inner condition, 3 the outer one, 4 what follows.
    expect(waysTo(layout, 4)).toEqual(['2 yes', '2 no', '3 yes', '3 no', null]);
    expect(placeOf(layout, 1).inside).toMatchObject({ step: 2, outcome: 'yes' });
    expect(placeOf(layout, 4).inside).toBeNull();
  });

  it('lists a step before those in its branches, and these before the step that follows', () => {
    const layout = layOutFlow(
      stepsOf(() => [
        step('split', {
          branches: [
            { weight: 60, steps: [step('email')] },
            { weight: 40, steps: [step('sms')] },
          ],
        }),
        step('event'),
      ]),
    );
    expect(layout.steps.map(({ step: { id } }) => id)).toEqual([3, 1, 2, 4]);
    expect(layout.edges.flatMap(({ labelAt, branch }) => (labelAt ? [branch?.label] : []))).toEqual([
      '60 %',
      '40 %',
    ]);
  });

  it('covers no box by another, and stays within its size, at the limits of a flow', () => {
    const nested = (depth: number): LaidOutStep[] =>
      depth === 0
        ? [step('email')]
        : [
            step('condition', {
              yes: nested(depth - 1),
              no: depth % 2 === 0 ? [] : [step('wait'), step('sms')],
            }),
            step('split', {
              branches: Array.from({ length: 3 }, () => ({ weight: 33, steps: [step('event')] })),
            }),
          ];
    const layout = layOutFlow(nested(10));
    expect(overlaps(layout)).toEqual([]);
    for (const { x, y } of [...layout.steps, ...layout.edges.flatMap(({ points }) => points)]) {
      expect(x).toBeGreaterThanOrEqual(0);
      expect(y).toBeGreaterThanOrEqual(0);
      expect(x).toBeLessThanOrEqual(layout.width);
      expect(y).toBeLessThanOrEqual(layout.height);
    }
  });

  it('looks at each step a few times for each level above it, however many steps there are', () => {
    const MAX_LEVELS = 10;
    let looks = 0;
    const counted = (given: LaidOutStep): LaidOutStep => {
      const { type } = given;
      return Object.defineProperty({ ...given }, 'type', {
        get() {
          looks += 1;
          return type;
        },
      });
    };
    const nested = (level: number): LaidOutStep[] => {
      const own = Array.from({ length: 19 }, () => counted(step('wait')));
      return level === MAX_LEVELS ? own : [...own, counted(step('condition', { yes: nested(level + 1) }))];
    };
    const count = layOutFlow(stepsOf(() => nested(1))).steps.length;
    expect(count).toBe(199);
    expect(looks).toBeLessThan(3 * MAX_LEVELS * count);
  });
});
