import type { AudienceNames } from '../../../api/choices.ts';
import type { Path } from '../../../editors/draft/merging.ts';
import { branchesOf, keyOf } from '../flow-layout.ts';
import { periodText, triggerText } from '../step-text.ts';
import type { FlowContent, Step } from './model.ts';
import { isStep } from './read-draft.ts';
import { stepLine } from './texts.ts';

/** A flow in words, for someone who has to choose between two versions. */
export const FlowVersion = ({ content, names }: { content: FlowContent; names: AudienceNames }) => (
  <>
    <p>
      <strong>{content.name}</strong>: {triggerText(content.trigger, names)}
      {content.goal !== null && `, goal ${content.goal}`}
    </p>
    <StepList steps={content.steps} names={names} />
  </>
);

/** Says what a step of a flow, or its duration, is. */
export function flowText(value: unknown, path: Path, names: AudienceNames): string | null {
  if (path.at(-1) === 'duration' && typeof value === 'number') return periodText(value);
  return isStep(value) ? stepLine(value, names) : null;
}

const StepList = ({ steps, names }: { steps: readonly Step[]; names: AudienceNames }) => (
  <ol>
    {steps.map((step) => (
      <li key={keyOf(step)}>
        {stepLine(step, names)}
        {branchesOf(step).map(({ key, label, steps: inner }) => (
          <div key={key}>
            {label}:{inner.length === 0 ? ' nothing' : <StepList steps={inner} names={names} />}
          </div>
        ))}
      </li>
    ))}
  </ol>
);
