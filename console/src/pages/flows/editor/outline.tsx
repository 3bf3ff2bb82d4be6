import { Button } from '../../../ui/button.tsx';
import { stepTitle } from '../step-text.ts';
import { branchesOf, keyOf, type Place, type Step } from './model.ts';
import type { EditorViewProps } from './views.ts';

/** The steps as nested lists. */
export function Outline(props: EditorViewProps) {
  const { content, selected, onSelect, triggerText } = props;
  return (
    <div className="flow-outline">
      <button
        type="button"
        className="flow-line"
        aria-pressed={selected === null}
        onClick={() => onSelect(null)}
      >
        <strong>Who enters</strong> <span>{triggerText}</span>
      </button>
      <Sequence view={props} branch={null} steps={content.steps} />
    </div>
  );
}

function Sequence({
  view,
  branch,
  steps,
}: {
  view: EditorViewProps;
  branch: Place['branch'];
  steps: readonly Step[];
}) {
  return (
    <ol>
      {steps.map((step, index) => (
        <li key={keyOf(step)}>
          <Button
            kind="quiet"
            aria-label={`Add a step before ${stepTitle(step)} ${keyOf(step)}`}
            onClick={() => view.onAdd({ branch, index })}
          >
            +
          </Button>
          <StepLine view={view} step={step} />
        </li>
      ))}
      <li>
        <Button
          kind="quiet"
          aria-label="Add a step here"
          onClick={() => view.onAdd({ branch, index: steps.length })}
        >
          +
        </Button>
      </li>
    </ol>
  );
}

function StepLine({ view, step }: { view: EditorViewProps; step: Step }) {
  const key = keyOf(step);
  return (
    <>
      <button
        type="button"
        className="flow-line"
        aria-pressed={view.selected === key}
        onClick={() => view.onSelect(key)}
      >
        <strong>{stepTitle(step)}</strong> <span>{view.summaryOf(step)}</span>
      </button>
      {branchesOf(step).map((branch) => (
        <div key={branch.key}>
          <span className="muted">{branch.key}</span>
          <Sequence view={view} branch={{ step: key, key: branch.key }} steps={branch.steps} />
        </div>
      ))}
    </>
  );
}
