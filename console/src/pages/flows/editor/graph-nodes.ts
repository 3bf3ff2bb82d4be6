/** The drawing of a flow as nodes of React Flow. The axis of the trigger is at x = 0, so that it stays where it is. */
import type { Node } from '@xyflow/react';
import {
  BOX,
  END,
  keyOf,
  layOutFlow,
  TO_EDIT,
  type FlowLayout,
  type PlacedMark,
  type Point,
  type StepKey,
} from '../flow-layout.ts';
import { findStep, type InsertionPoint, type Step } from './model.ts';
import { insertionText } from './texts.ts';

export const MARK = { width: 28, height: 28 } as const;

/** How near a dragged step must come to a mark, in pixels of the drawing. */
const REACH = 120;

export interface StepNode extends Node {
  type: 'step';
  data: { step: Step; inside: string | null };
}

export interface MarkNode extends Node {
  type: 'mark';
  /** Where it is, to continue a sentence about what it does. */
  data: { place: InsertionPoint; text: string };
}

/** The trigger, the end, and the names of branches. */
export interface OtherNode extends Node {
  type: 'trigger' | 'end' | 'branch';
  data: { text?: string };
}

export type GraphNode = StepNode | MarkNode | OtherNode;

export interface Drawing {
  /** In reading order, which is the order of the Tab key. */
  nodes: readonly GraphNode[];
  layout: FlowLayout<Step>;
  /** What to add to an x of the layout. */
  shift: number;
}

const placeOf = ({ branch, index }: PlacedMark): InsertionPoint => ({
  branch: branch && { step: branch.step, key: branch.key },
  index,
});

// React Flow's own words for its nodes say nothing here.
const still = {
  draggable: false,
  selectable: false,
  focusable: false,
  domAttributes: { 'aria-roledescription': undefined },
} as const;

/** React Flow need not measure what has a size. */
const sized = (size: { width: number; height: number }) => ({ ...size, measured: size });

/** Lays out the steps of a flow with a mark wherever a step can be put. */
export function drawFlow(steps: readonly Step[]): Drawing {
  const layout = layOutFlow(steps, TO_EDIT);
  const shift = -layout.width / 2;
  const at = ({ x, y }: Point): Point => ({ x: x + shift, y });
  const nodes: GraphNode[] = [
    { ...still, id: 'trigger', type: 'trigger', position: at(layout.trigger), data: {}, ...sized(BOX) },
  ];
  for (const { branch, labelAt } of layout.edges) {
    if (!branch || !labelAt) continue;
    const id = `branch ${branch.step} ${branch.key}`;
    nodes.push({
      ...{ ...still, id, type: 'branch', position: at(labelAt), ...sized({ width: 1, height: 1 }) },
      data: { text: branch.label },
    });
  }
  for (const item of layout.items) {
    if ('placed' in item) {
      const { step, inside } = item.placed;
      const within = inside && `In the branch ${inside.label} of step ${inside.step}.`;
      nodes.push({
        ...{ ...still, draggable: true, id: `step ${keyOf(step)}`, type: 'step', position: at(item.placed) },
        ...{ data: { step, inside: within }, ...sized(BOX) },
      });
    } else {
      const { mark } = item;
      const position = at({ x: mark.x - MARK.width / 2, y: mark.y - MARK.height / 2 });
      const place = placeOf(mark);
      const id = `mark ${place.branch ? `${place.branch.step} ${place.branch.key}` : ''} ${place.index}`;
      nodes.push({
        ...{ ...still, id, type: 'mark', position, ...sized(MARK) },
        data: { place, text: insertionText(steps, place) },
      });
    }
  }
  if (layout.end) {
    nodes.push({
      ...still,
      id: 'end',
      type: 'end',
      position: at(layout.end),
      data: { text: 'End' },
      ...sized(END),
    });
  }
  return { nodes, layout, shift };
}

/** Whether a move to the place would change anything, and is possible. */
function isTarget(step: Step, from: InsertionPoint, { branch, index }: InsertionPoint): boolean {
  if (branch && findStep([step], branch.step)) return false;
  const isSame = branch?.step === from.branch?.step && branch?.key === from.branch?.key;
  return !isSame || (index !== from.index && index !== from.index + 1);
}

/**
 * Finds the mark at which a dragged step would be put.
 * @param corner the upper left corner of its box
 * @returns null if no mark is near
 */
export function markNear(
  { nodes }: Drawing,
  steps: readonly Step[],
  key: StepKey,
  corner: Point,
): MarkNode | null {
  const found = findStep(steps, key);
  if (!found) return null;
  const middle = { x: corner.x + BOX.width / 2, y: corner.y + BOX.height / 2 };
  let nearest: MarkNode | null = null;
  let reach = REACH;
  for (const node of nodes) {
    if (node.type !== 'mark' || !isTarget(found.step, found.place, node.data.place)) continue;
    const { x, y } = node.position;
    const distance = Math.hypot(x + MARK.width / 2 - middle.x, y + MARK.height / 2 - middle.y);
    if (distance > reach) continue;
    nearest = node;
    reach = distance;
  }
  return nearest;
}
