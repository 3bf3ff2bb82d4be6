import type { AudienceNames } from '../../../ui/filter-text.ts';
import { branchesOf, keyOf } from '../flow-layout.ts';
import { stepSummary, triggerText, type FlowStep } from '../step-text.ts';
import type { FlowContent, Step } from './model.ts';
import { isStep } from './read-draft.ts';
import { nameOf } from './texts.ts';

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

/** Returns a step in words; null if the value is no step. */
export function stepText(value: unknown, names: AudienceNames): string | null {
  if (!isStep(value)) return null;
  return `${nameOf(value)}: ${stepSummary(value as FlowStep, names)}`;
}

const StepList = ({ steps, names }: { steps: readonly Step[]; names: AudienceNames }) => (
  <ol>
    {steps.map((step) => (
      <li key={keyOf(step)}>
        {nameOf(step)}: {stepSummary(step as FlowStep, names)}
        {branchesOf(step).map(({ key, label, steps: inner }) => (
          <div key={key}>
            {label}:{inner.length === 0 ? ' nothing' : <StepList steps={inner} names={names} />}
          </div>
        ))}
      </li>
    ))}
  </ol>
);
