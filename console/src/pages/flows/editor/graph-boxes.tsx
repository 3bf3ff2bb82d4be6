import type { NodeTypes } from '@xyflow/react';
import { createContext, use } from 'react';
import { stepTitle } from '../step-text.ts';
import type { MarkNode, OtherNode, StepNode } from './graph-nodes.ts';
import { keyOf } from '../flow-layout.ts';

import { keyText } from './texts.ts';
import type { EditorViewProps } from './views.ts';

/** What the boxes show and do. React Flow gives them only their own data. */
export const ViewContext = createContext<{
  view: EditorViewProps;
  /** The mark at which the dragged step would be put. */
  target: string | null;
} | null>(null);

function StepBox({ data: { step, inside } }: { data: StepNode['data'] }) {
  const view = use(ViewContext)?.view;
  if (!view) return null;
  const key = keyOf(step);
  const problems = view.problems[key] ?? [];
  const state = view.takenPath?.stateOf(step) ?? '';
  return (
    <button
      type="button"
      className={`flow-box ${state}`}
      aria-pressed={view.selected === key}
      onClick={() => view.onSelect(key)}
    >
      <strong>
        {stepTitle(step)} <span className="muted">{keyText(step)}</span>
      </strong>
      <span className="flow-summary">{view.summaryOf(step)}</span>
      {problems.length > 0 ? (
        <span className="flow-note bad">{problems.join(' ')}</span>
      ) : (
        <span className="flow-note">{view.takenPath?.noteOf(key)}</span>
      )}
      {inside !== null && <span className="visually-hidden">{inside}</span>}
    </button>
  );
}

function TriggerBox() {
  const view = use(ViewContext)?.view;
  if (!view) return null;
  return (
    <button
      type="button"
      className="flow-box trigger"
      aria-pressed={view.selected === null}
      onClick={() => view.onSelect(null)}
    >
      <strong>Who enters</strong>
      <span className="flow-summary">{view.triggerText}</span>
      <span className="flow-note">{view.content.goal !== null && `Goal: ${view.content.goal}`}</span>
    </button>
  );
}

function Mark({ id, data: { place, text } }: { id: string; data: MarkNode['data'] }) {
  const context = use(ViewContext);
  return (
    <button
      type="button"
      className={context?.target === id ? 'flow-mark target' : 'flow-mark'}
      aria-label={`${context?.view.addText ?? ''} ${text}`}
      onClick={() => context?.view.onAdd(place)}
    >
      +
    </button>
  );
}

const BranchName = ({ data: { text } }: { data: OtherNode['data'] }) => (
  <span className="flow-label" aria-hidden="true">
    {text}
  </span>
);

const End = ({ data: { text } }: { data: OtherNode['data'] }) => <div className="flow-end">{text}</div>;

export const nodeTypes: NodeTypes = {
  step: StepBox,
  trigger: TriggerBox,
  mark: Mark,
  branch: BranchName,
  end: End,
};
