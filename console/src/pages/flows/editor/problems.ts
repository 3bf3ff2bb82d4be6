/** What the API would refuse when the flow is activated, by the step and its field. */
import type { StepKey } from '../flow-layout.ts';
import { stepAtPath, type FlowContent } from './model.ts';

/** Messages by the path of the field, such as `filters.0.value`. */
export type FieldErrors = Record<string, string[]>;

export interface FlowProblems {
  /** By the key of the step as text. */
  steps: Readonly<Record<string, FieldErrors>>;
  trigger: FieldErrors;
  /** Problems that are about neither a step nor the trigger, such as the brand's postal address. */
  others: readonly Problem[];
}

export interface Problem {
  field: string;
  message: string;
}

/** Problems of a step that a click corrects; the API names the field of the request. */
const OF_STEP: Readonly<Record<string, string>> = {
  template_id:
    'The template that its content comes from no longer exists. Choose another, or keep the content that is here.',
  id: 'The published flow no longer has this step. Make it a new one.',
};

/** The same of the whole flow. */
const OF_FLOW: Readonly<Record<string, string>> = {
  trigger: 'Choose an event, a list or a segment.',
  steps: 'Add at least one step.',
  'brand.physical_address': 'Emails need the postal address of the brand.',
};

/** Whether no form shows a field of a step, so that its message is shown alone. */
export const isOfStep = (field: string): boolean => Object.hasOwn(OF_STEP, field);

/** The same of a field of the flow. */
export const isInWords = (field: string): boolean => Object.hasOwn(OF_FLOW, field);

const add = (errors: FieldErrors, field: string, message: string): FieldErrors => ({
  ...errors,
  [field]: [...(errors[field] ?? []), message],
});

/** `filters[0].value` as `filters.0.value`, which forms use. */
const dotted = (field: string) => field.replaceAll(/\[(\d+)\]/g, '.$1').replace(/^\./, '');

/** Sorts problems by the steps that they name. */
export function sortProblems(content: FlowContent, problems: readonly Problem[]): FlowProblems {
  const steps: Record<string, FieldErrors> = {};
  let trigger: FieldErrors = {};
  const others: Problem[] = [];
  for (const { field, message } of problems) {
    const at = stepAtPath(content.steps, field);
    if (at) steps[at.key] = add(steps[at.key] ?? {}, dotted(at.field), message);
    else if (/^trigger\b/.test(field)) trigger = add(trigger, dotted(field.slice('trigger'.length)), message);
    else others.push({ field, message });
  }
  return { steps, trigger, others };
}

/** Returns the messages of each step without their fields. */
export const messagesByStep = ({ steps }: FlowProblems): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(steps).map(([key, errors]) => [
      key,
      Object.entries(errors).flatMap(([field, texts]) =>
        texts.map((text) => (isOfStep(field) ? text : `${field} ${text}`.trim())),
      ),
    ]),
  );

/** Says what the user can do about a field of the API that no form has. */
export const worded = ({ steps }: FlowContent, problems: readonly Problem[]): Problem[] =>
  problems.map(({ field, message }) => {
    const own = stepAtPath(steps, field)?.field ?? '';
    // Steps may also be too many or too large.
    const isMissing = field !== 'steps' || steps.length === 0;
    return { field, message: OF_STEP[own] ?? (isMissing ? OF_FLOW[field] : undefined) ?? message };
  });

export const errorsOf = (problems: FlowProblems, key: StepKey): FieldErrors => problems.steps[key] ?? {};
