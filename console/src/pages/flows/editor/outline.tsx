import type { KeyboardEvent } from 'react';
import { moveByKeys } from '../flow-graph.tsx';
import { branchesOf, keyOf } from '../flow-layout.ts';
import { stepTitle } from '../step-text.ts';
import { nudgeStep, removeStep } from './commands.ts';
import type { InsertionPoint, Step } from './model.ts';
import { keyText, insertionText } from './texts.ts';
import type { EditorViewProps } from './views.ts';

/** The steps as nested lists, for narrow pages and the keyboard. Arrow keys go from line to line. */
export function Outline(props: EditorViewProps) {
  const { content, selected, onSelect, triggerText } = props;
  return (
    <div className="flow-outline" role="group" aria-label={`Steps of ${content.name}`} onKeyDown={moveByKeys}>
      <button
        type="button"
        className="flow-line trigger"
        aria-pressed={selected === null}
        onClick={() => onSelect(null)}
      >
        <strong>Who enters</strong>
        <span className="flow-summary">{triggerText}</span>
      </button>
      <Sequence view={props} branch={null} steps={content.steps} />
      <p className="hint">
        Arrow keys go from line to line, <kbd>Enter</kbd> opens a step, <kbd>Alt</kbd> with an arrow key moves
        it, <kbd>Delete</kbd> removes it.
      </p>
    </div>
  );
}

interface SequenceProps {
  view: EditorViewProps;
  branch: InsertionPoint['branch'];
  steps: readonly Step[];
}

const Sequence = ({ view, branch, steps }: SequenceProps) => (
  <ol>
    <li>
      <Mark view={view} place={{ branch, index: 0 }} />
    </li>
    {steps.map((step, index) => (
      <li key={keyOf(step)}>
        <StepLine view={view} step={step} />
        <Mark view={view} place={{ branch, index: index + 1 }} />
      </li>
    ))}
  </ol>
);

const Mark = ({ view, place }: { view: EditorViewProps; place: InsertionPoint }) => (
  <button
    type="button"
    className="flow-mark"
    aria-label={`${view.addText} ${insertionText(view.content.steps, place)}`}
    onClick={() => view.onAdd(place)}
  >
    +
  </button>
);

function StepLine({ view, step }: { view: EditorViewProps; step: Step }) {
  const key = keyOf(step);
  const problems = view.problems[key] ?? [];
  const branches = branchesOf(step);
  const act = (event: KeyboardEvent<HTMLElement>) => {
    const arrow = event.altKey
      ? { ArrowUp: 'up' as const, ArrowDown: 'down' as const }[event.key]
      : undefined;
    if (arrow) view.run((steps) => nudgeStep(steps, key, arrow));
    else if (event.key === 'Delete') view.run((steps) => removeStep(steps, key));
    else return;
    event.preventDefault();
    event.stopPropagation();
    focusAgain(event.currentTarget);
  };
  return (
    <>
      <button
        type="button"
        className={`flow-line ${view.takenPath?.stateOf(step) ?? ''}`}
        aria-pressed={view.selected === key}
        onKeyDown={act}
        onClick={() => view.onSelect(key)}
      >
        <strong>
          {stepTitle(step)} <span className="muted">{keyText(step)}</span>
        </strong>
        <span className="flow-summary">{view.summaryOf(step)}</span>
        {view.takenPath && <span className="flow-note">{view.takenPath.noteOf(key)}</span>}
        {problems.length > 0 && <span className="flow-note bad">{problems.join(' ')}</span>}
      </button>
      {branches.length > 0 && (
        <ul className="flow-branches">
          {branches.map((branch) => (
            <li key={branch.key}>
              <span className="flow-branch">{branch.label}</span>
              <Sequence view={view} branch={{ step: key, key: branch.key }} steps={branch.steps} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

/** A line that moves is drawn again, and one that is removed loses the focus: it moves to the selected line. */
function focusAgain(line: HTMLElement): void {
  const outline = line.closest('.flow-outline');
  setTimeout(() => {
    if (document.activeElement !== document.body) return;
    outline?.querySelector<HTMLElement>('[aria-pressed="true"]')?.focus();
  });
}
