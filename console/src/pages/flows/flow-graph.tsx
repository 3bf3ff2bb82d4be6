import { useLayoutEffect, useMemo, useRef, type KeyboardEvent, type ReactNode } from 'react';
import { BOX, END, layOutFlow, type Edge, type PlacedStep, type Point } from './flow-layout.ts';
import { stepTitle, type FlowStep } from './step-text.ts';

interface FlowGraphProps {
  /** What the drawing shows, for screen readers. */
  label: string;
  steps: readonly FlowStep[];
  trigger: ReactNode;
  /** What is shown at the end of the flow. */
  end: ReactNode;
  /** One line about what a step does. */
  summaryOf: (step: FlowStep) => string;
  /** Figures of a step, or what became of it in a run. */
  noteOf: (step: FlowStep) => ReactNode;
  /** The step that is open, and how to open one. */
  selected: number | null;
  onSelect: (stepId: number) => void;
  /** The path of a run; without one, the whole flow is drawn alike. */
  takenPath?: { isTaken: (edge: Edge) => boolean; stateOf: (step: FlowStep) => 'taken' | 'here' | 'other' };
}

const at = ({ x, y }: Point) => ({ left: x, top: y });
const pathOf = (points: readonly Point[]) => points.map(({ x, y }) => `${x},${y}`).join(' ');

/** Moves the focus to the next or previous step by the arrow keys. */
export function moveByKeys(event: KeyboardEvent<HTMLElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || !(event.target instanceof HTMLButtonElement)) return;
  const boxes = [...event.currentTarget.querySelectorAll('button')];
  const next = boxes[boxes.indexOf(event.target) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

/** Scrolls a drawing that is larger than its frame to the step that matters, else to the trigger. */
function showMiddle(frame: HTMLElement | null): void {
  if (!frame) return;
  const box = frame.querySelector<HTMLElement>('.here, [aria-pressed="true"]');
  const middle = box ? box.offsetLeft + box.offsetWidth / 2 : frame.scrollWidth / 2;
  frame.scrollLeft = middle - frame.clientWidth / 2;
  if (box) frame.scrollTop = box.offsetTop - frame.clientHeight / 2;
}

/** The steps of a flow as boxes with lines between them. Each box is a button; the list of them is in reading order. */
export function FlowGraph(props: FlowGraphProps) {
  const { steps, takenPath } = props;
  const layout = useMemo(() => layOutFlow(steps), [steps]);
  const { width, height } = layout;
  const rank = (edge: Edge) => (takenPath?.isTaken(edge) === true ? 1 : 0);
  // Lines that are drawn later lie above the others.
  const edges = layout.edges.toSorted((a, b) => rank(a) - rank(b));
  const frame = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => showMiddle(frame.current), [width]);
  return (
    <div className="flow-frame" ref={frame} role="group" aria-label={props.label}>
      <div className={takenPath ? 'flow-graph with-path' : 'flow-graph'} style={{ width, height }}>
        <svg width={width} height={height} aria-hidden="true">
          {edges.map((edge) => (
            <polyline
              key={pathOf(edge.points)}
              points={pathOf(edge.points)}
              className={takenPath?.isTaken(edge) === true ? 'taken' : undefined}
            />
          ))}
        </svg>
        {layout.edges.map(
          ({ branch, labelAt }) =>
            branch &&
            labelAt && (
              <span
                key={`${branch.step} ${branch.outcome}`}
                className="flow-label"
                style={at(labelAt)}
                aria-hidden="true"
              >
                {branch.label}
              </span>
            ),
        )}
        <ol onKeyDown={moveByKeys}>
          <li className="flow-box trigger" style={{ ...BOX, ...at(layout.trigger) }}>
            {props.trigger}
          </li>
          {layout.steps.map((placed) => (
            <li key={placed.step.id}>
              <StepBox placed={placed} {...props} />
            </li>
          ))}
          {layout.end && (
            <li className="flow-end" style={{ ...END, ...at(layout.end) }}>
              {props.end}
            </li>
          )}
        </ol>
      </div>
    </div>
  );
}

function StepBox({
  placed,
  summaryOf,
  noteOf,
  selected,
  onSelect,
  takenPath,
}: FlowGraphProps & { placed: PlacedStep<FlowStep> }) {
  const { step, inside } = placed;
  const state = takenPath?.stateOf(step);
  return (
    <button
      type="button"
      className={`flow-box ${state ?? ''}`}
      style={{ ...BOX, ...at(placed) }}
      aria-pressed={selected === step.id}
      onClick={() => onSelect(step.id)}
    >
      <strong>
        {stepTitle(step)} <span className="muted">{step.id}</span>
      </strong>
      <span className="flow-summary">{summaryOf(step)}</span>
      <span className="flow-note">{noteOf(step)}</span>
      {state === 'here' && <span className="visually-hidden">The run is here.</span>}
      {inside && (
        <span className="visually-hidden">
          In the branch {inside.label} of step {inside.step}.
        </span>
      )}
    </button>
  );
}
