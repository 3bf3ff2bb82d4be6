import type { AudienceNames } from '../../api/choices.ts';
import { keyText } from './editor/texts.ts';
import { findStep, stepSummary, stepTitle, type FlowStep } from './step-text.ts';

/** A step as the editor's outline names it, such as "Wait 2: 2 days"; only its id if the steps do not have it. */
export function StepName({
  id,
  steps,
  names,
}: {
  id: number;
  steps: readonly FlowStep[];
  names: AudienceNames;
}) {
  const step = findStep(steps, id);
  if (!step) return <>Step {id}, which is gone</>;
  return (
    <>
      <strong>
        {stepTitle(step)} <span className="muted">{keyText(step)}</span>
      </strong>
      : {stepSummary(step, names)}
    </>
  );
}
