/** What the API would refuse when the flow is activated, by the step and its field. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { api, call } from '../../../api/client.ts';
import { ApiError } from '../../../api/errors.ts';
import { useSettled } from '../../../ui/settled.ts';
import { requestOf } from './content.ts';
import type { StepKey } from '../flow-layout.ts';
import { stepAtPath, type FlowContent } from './model.ts';

/** Messages by the path of the field, such as `filters.0.value`. */
export type FieldErrors = Record<string, string[]>;

export interface FlowProblems {
  /** By the key of the step as text. */
  steps: Readonly<Record<string, FieldErrors>>;
  trigger: FieldErrors;
  /** What is about neither a step nor the trigger, such as the brand's postal address. */
  others: readonly string[];
}

export interface Problem {
  field: string;
  message: string;
}

const NONE: FlowProblems = { steps: {}, trigger: {}, others: [] };

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
  const others: string[] = [];
  for (const { field, message } of problems) {
    const at = stepAtPath(content.steps, field);
    if (at) steps[at.key] = add(steps[at.key] ?? {}, dotted(at.field), message);
    else if (/^trigger\b/.test(field)) trigger = add(trigger, dotted(field.slice('trigger'.length)), message);
    else others.push(`${field}: ${message}`);
  }
  return { steps, trigger, others };
}

/** Returns the messages of each step without their fields. */
export const messagesByStep = ({ steps }: FlowProblems): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(steps).map(([key, errors]) => [
      key,
      Object.entries(errors).flatMap(([field, texts]) => texts.map((text) => `${field} ${text}`.trim())),
    ]),
  );

/** Checks the flow as it is in the editor, a moment after the last change. */
export function useFlowProblems(flowId: number, content: FlowContent): FlowProblems {
  const checked = useSettled(content);
  const { data = NONE } = useQuery({
    queryKey: ['flows', flowId, 'check', checked],
    gcTime: 0,
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) => sortProblems(checked, await checkFlow(flowId, checked, signal)),
  });
  return data;
}

/** Asks what an activation would refuse. */
export async function checkFlow(
  flowId: number,
  content: FlowContent,
  signal: AbortSignal,
): Promise<Problem[]> {
  const { name: _, ...body } = requestOf(content);
  try {
    const { problems } = await call(() =>
      api.POST('/v1/my/flows/check', { body: { flow_id: flowId, ...body }, signal }),
    );
    return problems;
  } catch (error) {
    if (!(error instanceof ApiError) || Object.keys(error.fields).length === 0) throw error;
    return Object.entries(error.fields).flatMap(([field, texts]) =>
      texts.map((message) => ({ field, message })),
    );
  }
}

export const errorsOf = (problems: FlowProblems, key: StepKey): FieldErrors => problems.steps[key] ?? {};
