/** Gives the new steps of a request their ids, and replaces the refs by which its steps name each other. */
import { withStepIds } from '../segments/index.ts';
import { type InputStep, inputsOf } from './read-steps.ts';
import { mapBranches, referencesOf } from './steps/index.ts';

/** A step of a request with its id, and without refs. */
export interface NumberedStep extends InputStep {
  id: number;
  ref?: never;
}

/** Replaces refs in what a step names. @param ids by ref */
function withoutRefs(step: InputStep, ids: ReadonlyMap<string, number>): object {
  const { filters, before } = referencesOf(step);
  const id = typeof before?.step === 'string' ? ids.get(before.step) : undefined;
  return {
    ...(filters && { filters: withStepIds(filters, ids) }),
    ...(id !== undefined && before?.withId(id)),
  };
}

/**
 * Gives each new step an id, in the order of the steps.
 * @param nextId the lowest id that no step of the flow has ever had
 * @returns the steps, and the next id after theirs
 */
export function numberSteps(
  given: readonly InputStep[],
  nextId: number,
): { steps: NumberedStep[]; next_step_id: number } {
  const inputs = inputsOf(given).map(({ step }) => step);
  let next = Math.max(nextId, 1 + Math.max(0, ...inputs.map(({ id }) => id ?? 0)));
  const ids = new Map(inputs.map((step) => [step, step.id ?? next++]));
  const refs = inputs.flatMap((step): [string, number][] => {
    const id = ids.get(step);
    return step.ref === undefined || id === undefined ? [] : [[step.ref, id]];
  });
  const byRef = new Map(refs);
  const number = (steps: readonly InputStep[]): NumberedStep[] =>
    steps.map((step) => {
      const { ref: _, ...fields } = step;
      const names = byRef.size > 0 && withoutRefs(step, byRef);
      return { ...fields, id: ids.get(step) as number, ...names, ...mapBranches(step, number) };
    });
  return { steps: number(given), next_step_id: next };
}
