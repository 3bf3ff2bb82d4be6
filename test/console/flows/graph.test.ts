// The graph of the editor has a mark wherever a step can be put, covers nothing, and finds the mark near a dragged step.
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { moveStep } from '../../../console/src/pages/flows/editor/commands.ts';
import {
  drawFlow,
  markNear,
  type GraphNode,
  type MarkNode,
} from '../../../console/src/pages/flows/editor/graph-nodes.ts';
import { allSteps, type InsertionPoint, type Step } from '../../../console/src/pages/flows/editor/model.ts';
import { BOX, branchesOf, keyOf } from '../../../console/src/pages/flows/flow-layout.ts';
import { randomSteps, sequencesOf } from './random-flows.ts';

const RUNS = 300;

const isMark = (node: GraphNode): node is MarkNode => node.type === 'mark';
const marksOf = (steps: readonly Step[]) => drawFlow(steps).nodes.filter(isMark);
const textOf = ({ branch, index }: InsertionPoint) =>
  `${branch ? `${branch.step} ${branch.key}` : ''} ${index}`;

function branchIn({ owner, index }: ReturnType<typeof sequencesOf>[number]): InsertionPoint['branch'] {
  const key = owner && branchesOf(owner)[index]?.key;
  return owner && key !== null && key !== undefined ? { step: keyOf(owner), key } : null;
}

const boxOf = ({ position: { x, y }, width = 0, height = 0 }: GraphNode) => ({ x, y, width, height });
function overlap(one: GraphNode, other: GraphNode): boolean {
  const a = boxOf(one);
  const b = boxOf(other);
  return a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;
}

const wait = (id: number): Step => ({ type: 'wait', id, duration: 60 });
const flow: Step[] = [
  wait(1),
  { type: 'condition', id: 2, filters: [], yes: [wait(3), { type: 'exit', id: 4 }], no: [] },
  wait(5),
];

describe('the marks of a graph', () => {
  it('stand at each place that runs can come to, in reading order', () => {
    expect(marksOf(flow).map(({ data }) => textOf(data.place))).toEqual([
      ' 0',
      ' 1',
      ...['2 yes 0', '2 yes 1'],
      '2 no 0',
      ' 2',
      ' 3',
    ]);
  });

  it('are different places of the flow, and each branch has one at its beginning', () => {
    fc.assert(
      fc.property(randomSteps, (steps) => {
        const marks = marksOf(steps).map(({ data }) => textOf(data.place));
        expect(new Set(marks).size).toBe(marks.length);
        const places = sequencesOf(steps).flatMap((sequence) =>
          [...sequence.steps.keys(), sequence.steps.length].map((index) =>
            textOf({ branch: branchIn(sequence), index }),
          ),
        );
        expect(places).toEqual(expect.arrayContaining(marks));
        for (const sequence of sequencesOf(steps)) {
          expect(marks).toContain(textOf({ branch: branchIn(sequence), index: 0 }));
        }
      }),
      { numRuns: RUNS },
    );
  });

  it('cover neither boxes nor each other', () => {
    fc.assert(
      fc.property(randomSteps, (steps) => {
        const { nodes } = drawFlow(steps);
        const solid = nodes.filter(({ type }) => type !== 'branch');
        const clash = solid.find((one, n) => solid.slice(n + 1).some((other) => overlap(one, other)));
        expect(clash?.id).toBeUndefined();
      }),
      { numRuns: 100 },
    );
  });
});

describe('the mark near a dragged step', () => {
  const at = (steps: readonly Step[], key: number, place: string) => {
    const drawing = drawFlow(steps);
    const mark = drawing.nodes.filter(isMark).find(({ data }) => textOf(data.place) === place);
    const { x = 0, y = 0 } = mark?.position ?? {};
    return markNear(drawing, steps, key, { x: x - BOX.width / 2, y: y - BOX.height / 2 });
  };

  it('is the one under the middle of its box', () => {
    expect(at(flow, 5, '2 no 0')?.data.place).toEqual({ branch: { step: 2, key: 'no' }, index: 0 });
  });

  it('is no mark within the branches of the step, or beside it', () => {
    expect(at(flow, 2, '2 no 0')?.data.place.branch ?? null).toBeNull();
    expect(at([wait(1)], 1, ' 0')).toBeNull();
    expect(at([wait(1)], 1, ' 1')).toBeNull();
  });

  it('is none if all are far away', () => {
    expect(markNear(drawFlow(flow), flow, 5, { x: 5_000, y: 0 })).toBeNull();
  });

  it('names a place to which the step can move', () => {
    fc.assert(
      fc.property(randomSteps, fc.nat(999), fc.nat(999), (steps, step, mark) => {
        const located = allSteps(steps);
        const dragged = located[step % Math.max(1, located.length)];
        if (!dragged) return;
        const drawing = drawFlow(steps);
        const marks = drawing.nodes.filter(isMark);
        const { x = 0, y = 0 } = marks[mark % marks.length]?.position ?? {};
        const key = keyOf(dragged.step);
        const found = markNear(drawing, steps, key, { x: x - BOX.width / 2, y: y - BOX.height / 2 });
        if (!found) return;
        const moved = moveStep(steps, key, found.data.place);
        // A refusal is only about names that the move would break.
        if ('steps' in moved) expect(moved.steps).not.toBe(steps);
        else expect(moved.refused).not.toMatch(/own branches|no longer in the flow/);
      }),
      { numRuns: RUNS },
    );
  });
});
