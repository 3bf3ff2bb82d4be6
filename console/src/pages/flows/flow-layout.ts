/**
 * Where the steps of a flow stand in its drawing. A sequence goes down; the branches of a step stand side by side below
 * it, and always meet again above the step that follows. So a drawing needs nothing but the steps as the API has them.
 */

/** What the layout reads of a step. */
export interface LaidOutStep {
  id: number;
  type: string;
  yes?: readonly LaidOutStep[];
  no?: readonly LaidOutStep[];
  branches?: readonly { weight: number; steps: readonly LaidOutStep[] }[];
}

export interface Branch<Step extends LaidOutStep> {
  /** The outcome of the step, in the path of a run that takes the branch. */
  outcome: string;
  label: string;
  steps: readonly Step[];
}

export interface Point {
  x: number;
  y: number;
}

/** A step with the upper left corner of its box. */
export interface PlacedStep<Step extends LaidOutStep> extends Point {
  step: Step;
  /** The innermost branch in which the step stands. */
  inside: BranchOfStep | null;
}

export interface BranchOfStep {
  stepId: number;
  outcome: string;
  label: string;
}

export interface Edge {
  points: readonly Point[];
  /** The branch that the edge enters or leaves; null if it connects two steps of a sequence. */
  branch: BranchOfStep | null;
  /** Where the label of a branch stands: at its entrance. */
  labelAt: Point | null;
  /** The step that the edge leads to; null if it is the end of the flow. */
  to: number | null;
}

export interface FlowLayout<Step extends LaidOutStep> {
  width: number;
  height: number;
  /** The upper left corner of the box of the trigger. */
  trigger: Point;
  /** In reading order: each step before those in its branches, and these before the step that follows. */
  steps: readonly PlacedStep<Step>[];
  edges: readonly Edge[];
  /** The upper left corner of the box at the end; null if no run takes all steps. */
  end: Point | null;
}

/** The sizes of all boxes and gaps in pixels. */
export const BOX = { width: 216, height: 92 } as const;
export const END = { width: 96, height: 36 } as const;
const GAP_Y = 36;
const GAP_X = 28;
const MARGIN = 8;
/** From a box to the line on which its branches part, and from the lowest branch to the line on which they meet. */
const FORK_Y = 18;
/** From that line to the first boxes: room for the label of the branch. */
const ENTRANCE_Y = 46;
const EMPTY_BRANCH_WIDTH = 120;

interface Size {
  width: number;
  height: number;
}

/** What has been placed, and the point at which runs leave it; null if all of them end in it. */
interface Placed<Step extends LaidOutStep> {
  steps: PlacedStep<Step>[];
  edges: Edge[];
  exit: Point | null;
}

/** Where something is placed: the middle of its upper side, the branch around it, and the step that follows it. */
interface Place extends Point {
  inside: BranchOfStep | null;
  next: number | null;
}

/** Returns the branches of a step in the order of the API; none if it has none. */
export function branchesOf<Step extends LaidOutStep>(step: Step): Branch<Step>[] {
  // The steps in the branches are of the same type as the step, which TypeScript cannot express here.
  const within = (steps: readonly LaidOutStep[] | undefined) => (steps ?? []) as readonly Step[];
  switch (step.type) {
    case 'condition':
      return [
        { outcome: 'yes', label: 'yes', steps: within(step.yes) },
        { outcome: 'no', label: 'no', steps: within(step.no) },
      ];
    case 'wait_for_event':
      return [
        { outcome: 'yes', label: 'in time', steps: within(step.yes) },
        { outcome: 'timeout', label: 'too late', steps: within(step.no) },
      ];
    default:
      return (step.branches ?? []).map(({ weight, steps }, index) => ({
        outcome: `branch ${index + 1}`,
        label: `${weight} %`,
        steps: within(steps),
      }));
  }
}

/** Lays out the steps of a flow between its trigger and its end. */
export function layOutFlow<Step extends LaidOutStep>(steps: readonly Step[]): FlowLayout<Step> {
  const size = sizeOfSequence(steps);
  const width = Math.max(size.width, BOX.width) + 2 * MARGIN;
  const x = width / 2;
  const below = MARGIN + BOX.height;
  const top = below + GAP_Y;
  const placed = placeSequence(steps, { x, y: top, inside: null, next: null });
  const first = steps[0];
  const edges = first
    ? [
        edge(
          [
            { x, y: below },
            { x, y: top },
          ],
          first.id,
        ),
        ...placed.edges,
      ]
    : placed.edges;
  const exit = first ? placed.exit : { x, y: below };
  const bottom = first ? top + size.height : below;
  if (exit) edges.push(edge([exit, { x, y: bottom + GAP_Y }], null));
  return {
    width,
    height: bottom + MARGIN + (exit ? GAP_Y + END.height : 0),
    trigger: { x: x - BOX.width / 2, y: MARGIN },
    steps: placed.steps,
    edges,
    end: exit && { x: x - END.width / 2, y: bottom + GAP_Y },
  };
}

function sizeOfSequence(steps: readonly LaidOutStep[]): Size {
  if (steps.length === 0) return { width: EMPTY_BRANCH_WIDTH, height: 0 };
  const sizes = steps.map(sizeOfStep);
  return {
    width: Math.max(...sizes.map(({ width }) => width)),
    height: sum(sizes.map(({ height }) => height)) + GAP_Y * (steps.length - 1),
  };
}

function sizeOfStep(step: LaidOutStep): Size {
  const sizes = branchesOf(step).map(({ steps }) => sizeOfSequence(steps));
  if (sizes.length === 0) return BOX;
  return {
    width: Math.max(BOX.width, widthOf(sizes)),
    height: BOX.height + FORK_Y + ENTRANCE_Y + Math.max(...sizes.map(({ height }) => height)) + FORK_Y,
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
const widthOf = (sizes: readonly Size[]) => sum(sizes.map(({ width }) => width)) + GAP_X * (sizes.length - 1);

function placeSequence<Step extends LaidOutStep>(steps: readonly Step[], place: Place): Placed<Step> {
  const all: Placed<Step> = { steps: [], edges: [], exit: null };
  let { y } = place;
  for (const [index, step] of steps.entries()) {
    if (all.exit) all.edges.push(edge([all.exit, { x: place.x, y }], step.id));
    const placed = placeStep(step, { ...place, y, next: steps[index + 1]?.id ?? place.next });
    all.steps.push(...placed.steps);
    all.edges.push(...placed.edges);
    all.exit = placed.exit;
    y += sizeOfStep(step).height + GAP_Y;
  }
  return all;
}

function placeStep<Step extends LaidOutStep>(step: Step, place: Place): Placed<Step> {
  const { x, y, inside } = place;
  const box = { step, x: x - BOX.width / 2, y, inside };
  const branches = branchesOf(step);
  if (branches.length === 0) {
    const exit = step.type === 'exit' ? null : { x, y: y + BOX.height };
    return { steps: [box], edges: [], exit };
  }
  const meetsAt = { x, y: y + sizeOfStep(step).height };
  const all: Placed<Step> = { steps: [box], edges: [], exit: null };
  const sizes = branches.map(({ steps }) => sizeOfSequence(steps));
  let left = x - widthOf(sizes) / 2;
  for (const [index, branch] of branches.entries()) {
    const { width } = sizes[index] ?? BOX;
    const placed = placeBranch(step, branch, { place, meetsAt, axis: left + width / 2 });
    all.steps.push(...placed.steps);
    all.edges.push(...placed.edges);
    all.exit ??= placed.exit;
    left += width + GAP_X;
  }
  return all;
}

/** @param at.axis the middle of the branch; @param at.meetsAt where the branches come together */
function placeBranch<Step extends LaidOutStep>(
  step: Step,
  { outcome, label, steps }: Branch<Step>,
  { place, meetsAt, axis }: { place: Place; meetsAt: Point; axis: number },
): Placed<Step> {
  const inside = { stepId: step.id, outcome, label };
  const below = place.y + BOX.height;
  const fork = below + FORK_Y;
  const top = fork + ENTRANCE_Y;
  const entrance = [
    { x: place.x, y: below },
    { x: place.x, y: fork },
    { x: axis, y: fork },
  ];
  const labelAt = { x: axis, y: fork + FORK_Y };
  const wayBack = [{ x: axis, y: meetsAt.y }, meetsAt];
  const first = steps[0];
  if (!first) {
    const points = [...entrance, ...wayBack];
    return { steps: [], edges: [{ points, branch: inside, labelAt, to: place.next }], exit: meetsAt };
  }
  const placed = placeSequence(steps, { x: axis, y: top, inside, next: place.next });
  const points = [...entrance, { x: axis, y: top }];
  const edges: Edge[] = [{ points, branch: inside, labelAt, to: first.id }, ...placed.edges];
  if (placed.exit)
    edges.push({ points: [placed.exit, ...wayBack], branch: inside, labelAt: null, to: place.next });
  return { steps: placed.steps, edges, exit: placed.exit && meetsAt };
}

const edge = (points: readonly Point[], to: number | null): Edge => ({
  points,
  branch: null,
  labelAt: null,
  to,
});
