/**
 * Where the steps of a flow are in its drawing. A sequence goes down; the branches of a step are side by side below
 * it, and always meet again above the step that follows. So a drawing needs nothing but the steps as the API has them.
 */

/** The id of a step; the `ref` of a step that is not yet published. */
export type StepKey = number | string;

/** The index counts the branches of a split. */
export type BranchKey = 'yes' | 'no' | number;

/** What the layout reads of a step. It has an id or a ref. */
export interface LaidOutStep {
  id?: number;
  ref?: string;
  type: string;
  yes?: readonly LaidOutStep[] | null;
  no?: readonly LaidOutStep[] | null;
  branches?: readonly { weight: number; steps: readonly LaidOutStep[] }[];
}

export const keyOf = ({ id, ref }: Pick<LaidOutStep, 'id' | 'ref'>): StepKey => id ?? ref ?? '';

export interface Branch<Step extends LaidOutStep> {
  key: BranchKey;
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
  /** The innermost branch that contains the step. */
  inside: BranchOfStep | null;
}

export interface BranchOfStep {
  step: StepKey;
  key: BranchKey;
  outcome: string;
  label: string;
}

/** Where a step can be put: before `index` of a branch, or of the flow itself. The point is the middle of the mark. */
export interface PlacedMark extends Point {
  branch: BranchOfStep | null;
  index: number;
}

export interface Edge {
  points: readonly Point[];
  /** The branch that the edge enters or leaves; null if it connects two steps of a sequence. */
  branch: BranchOfStep | null;
  /** Where the label of a branch is: at its entrance. */
  labelAt: Point | null;
  /** The step that the edge leads to; null if it is the end of the flow. */
  to: StepKey | null;
}

export interface FlowLayout<Step extends LaidOutStep> {
  width: number;
  height: number;
  /** The upper left corner of the box of the trigger. */
  trigger: Point;
  /** In reading order: each step before those in its branches, and these before the step that follows. */
  steps: readonly PlacedStep<Step>[];
  /** The steps and the places between them, in reading order. */
  items: readonly Item<Step>[];
  edges: readonly Edge[];
  /** The upper left corner of the box at the end; null if no run takes all steps. */
  end: Point | null;
}

/** The sizes of all boxes and gaps in pixels. */
export const BOX = { width: 216, height: 92 } as const;
export const END = { width: 96, height: 36 } as const;
const GAP_X = 28;
const MARGIN = 8;
/** From a box to the line on which its branches part, and from the lowest branch to the line on which they meet. */
const FORK_Y = 18;
const EMPTY_BRANCH_WIDTH = 120;

/** The room between boxes, in pixels. */
export interface Room {
  /** Between two steps of a sequence. */
  gap: number;
  /** From the line on which branches part to their first boxes: room for the label of the branch. */
  entrance: number;
  /** From the lowest box of a branch to the line on which branches meet. */
  wayBack: number;
}

export const TO_LOOK: Room = { gap: 36, entrance: 46, wayBack: FORK_Y };
/** With room for a mark wherever a step can be put. */
export const TO_EDIT: Room = { gap: 60, entrance: 90, wayBack: 60 };
/** From a mark to the box above or below it. */
const MARK_Y = 30;

/** A box or a mark. */
export type Item<Step extends LaidOutStep> = { placed: PlacedStep<Step> } | { mark: PlacedMark };

interface Size {
  width: number;
  height: number;
}

/** What has been placed, and the point at which runs leave it; null if all of them end in it. */
interface Placed<Step extends LaidOutStep> {
  items: Item<Step>[];
  edges: Edge[];
  exit: Point | null;
}

/** Where something is placed: the middle of its upper side, the branch around it, and the step that follows it. */
interface Anchor extends Point {
  inside: BranchOfStep | null;
  next: StepKey | null;
  room: Room;
}

/** Returns the branches of a step in the order of the API; none if it has none. */
export function branchesOf<Step extends LaidOutStep>(step: Step): Branch<Step>[] {
  // The steps in the branches are of the same type as the step, which TypeScript cannot express here.
  const within = (steps: readonly LaidOutStep[] | null | undefined) => (steps ?? []) as readonly Step[];
  switch (step.type) {
    case 'condition':
      return [
        { key: 'yes', outcome: 'yes', label: 'yes', steps: within(step.yes) },
        { key: 'no', outcome: 'no', label: 'no', steps: within(step.no) },
      ];
    case 'wait_for_event':
      return [
        { key: 'yes', outcome: 'yes', label: 'in time', steps: within(step.yes) },
        { key: 'no', outcome: 'timeout', label: 'too late', steps: within(step.no) },
      ];
    default:
      return (step.branches ?? []).map(({ weight, steps }, index) => ({
        key: index,
        outcome: `branch ${index + 1}`,
        label: `${weight} %`,
        steps: within(steps),
      }));
  }
}

/** Lays out the steps of a flow between its trigger and its end. */
export function layOutFlow<Step extends LaidOutStep>(
  steps: readonly Step[],
  room: Room = TO_LOOK,
): FlowLayout<Step> {
  const size = sizeOfSequence(steps, room);
  const width = Math.max(size.width, BOX.width) + 2 * MARGIN;
  const x = width / 2;
  const below = MARGIN + BOX.height;
  const top = below + room.gap;
  const placed = placeSequence(steps, { x, y: top, inside: null, next: null, room });
  const [first] = steps;
  const edges = first ? [edge([at(x, below), at(x, top)], keyOf(first)), ...placed.edges] : placed.edges;
  const exit = first ? placed.exit : at(x, below);
  const bottom = first ? top + size.height : below;
  if (exit) edges.push(edge([exit, at(x, bottom + room.gap)], null));
  return {
    width,
    height: bottom + MARGIN + (exit ? room.gap + END.height : 0),
    trigger: { x: x - BOX.width / 2, y: MARGIN },
    steps: placed.items.flatMap((item) => ('placed' in item ? item.placed : [])),
    items: placed.items,
    edges,
    end: exit && { x: x - END.width / 2, y: bottom + room.gap },
  };
}

const at = (x: number, y: number): Point => ({ x, y });

function sizeOfSequence(steps: readonly LaidOutStep[], room: Room): Size {
  if (steps.length === 0) return { width: EMPTY_BRANCH_WIDTH, height: 0 };
  const sizes = steps.map((step) => sizeOfStep(step, room));
  return {
    width: Math.max(...sizes.map(({ width }) => width)),
    height: sum(sizes.map(({ height }) => height)) + room.gap * (steps.length - 1),
  };
}

function sizeOfStep(step: LaidOutStep, room: Room): Size {
  const sizes = branchesOf(step).map(({ steps }) => sizeOfSequence(steps, room));
  if (sizes.length === 0) return BOX;
  const highest = Math.max(...sizes.map(({ height }) => height));
  return {
    width: Math.max(BOX.width, widthOf(sizes)),
    height: BOX.height + FORK_Y + room.entrance + highest + room.wayBack,
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);
const widthOf = (sizes: readonly Size[]) => sum(sizes.map(({ width }) => width)) + GAP_X * (sizes.length - 1);

function placeSequence<Step extends LaidOutStep>(steps: readonly Step[], place: Anchor): Placed<Step> {
  const { x, inside, room } = place;
  const all: Placed<Step> = { items: [], edges: [], exit: null };
  const mark = (index: number, y: number) => all.items.push({ mark: { branch: inside, index, x, y } });
  let { y } = place;
  mark(0, y - MARK_Y);
  for (const [index, step] of steps.entries()) {
    if (all.exit) {
      all.edges.push(edge([all.exit, at(x, y)], keyOf(step)));
      mark(index, y - MARK_Y);
    }
    const following = steps[index + 1];
    const placed = placeStep(step, { ...place, y, next: following ? keyOf(following) : place.next });
    all.items.push(...placed.items);
    all.edges.push(...placed.edges);
    all.exit = placed.exit;
    y += sizeOfStep(step, room).height + room.gap;
  }
  if (all.exit) mark(steps.length, all.exit.y + MARK_Y);
  return all;
}

function placeStep<Step extends LaidOutStep>(step: Step, place: Anchor): Placed<Step> {
  const { x, y, inside, room } = place;
  const placed = { step, x: x - BOX.width / 2, y, inside };
  const branches = branchesOf(step);
  if (branches.length === 0) {
    const exit = step.type === 'exit' ? null : at(x, y + BOX.height);
    return { items: [{ placed }], edges: [], exit };
  }
  const meetsAt = at(x, y + sizeOfStep(step, room).height);
  const all: Placed<Step> = { items: [{ placed }], edges: [], exit: null };
  const sizes = branches.map(({ steps }) => sizeOfSequence(steps, room));
  let left = x - widthOf(sizes) / 2;
  for (const [index, branch] of branches.entries()) {
    const { width } = sizes[index] ?? BOX;
    const inner = placeBranch(step, branch, { place, meetsAt, axis: left + width / 2 });
    all.items.push(...inner.items);
    all.edges.push(...inner.edges);
    all.exit ??= inner.exit;
    left += width + GAP_X;
  }
  return all;
}

/** @param to.axis the middle of the branch; @param to.meetsAt where the branches come together */
function placeBranch<Step extends LaidOutStep>(
  step: Step,
  { key, outcome, label, steps }: Branch<Step>,
  { place, meetsAt, axis }: { place: Anchor; meetsAt: Point; axis: number },
): Placed<Step> {
  const branch = { step: keyOf(step), key, outcome, label };
  const below = place.y + BOX.height;
  const fork = below + FORK_Y;
  const top = fork + place.room.entrance;
  const entrance = [at(place.x, below), at(place.x, fork), at(axis, fork)];
  const labelAt = at(axis, fork + FORK_Y);
  const wayBack = [at(axis, meetsAt.y), meetsAt];
  const placed = placeSequence(steps, { ...place, x: axis, y: top, inside: branch });
  const [first] = steps;
  if (!first) {
    const edges = [{ points: [...entrance, ...wayBack], branch, labelAt, to: place.next }];
    return { ...placed, edges, exit: meetsAt };
  }
  const points = [...entrance, at(axis, top)];
  const edges: Edge[] = [{ points, branch, labelAt, to: keyOf(first) }, ...placed.edges];
  if (placed.exit) {
    edges.push({ points: [placed.exit, ...wayBack], branch, labelAt: null, to: place.next });
  }
  return { ...placed, edges, exit: placed.exit && meetsAt };
}

const edge = (points: readonly Point[], to: StepKey | null): Edge => ({
  points,
  branch: null,
  labelAt: null,
  to,
});
