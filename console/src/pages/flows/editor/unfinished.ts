/** Which filters the user has not finished, so that there is no need to ask the API about them. */
import type { Filter, Scope } from '../../../editors/filters/language.ts';
import { isComplete } from '../../../editors/filters/values.ts';
import { keyOf } from '../flow-layout.ts';
import { allSteps, type FlowContent, type Step } from './model.ts';
import type { FieldErrors, FlowProblems } from './problems.ts';

const areComplete = (filters: unknown, scope: Scope) =>
  ((filters ?? []) as readonly Filter[]).every((filter) => isComplete(filter, scope));

function isFinished({ type, filters }: Step): boolean {
  if (type === 'condition') return (filters ?? []).length > 0 && areComplete(filters, 'step');
  return type !== 'wait_for_event' || areComplete(filters, 'received');
}

const UNFINISHED: FieldErrors = { '': ['Its filters are not complete.'] };

export interface Unfinished {
  /** By the key of the step as text. */
  steps: FlowProblems['steps'];
  isTrigger: boolean;
}

/** @returns null if all filters are finished */
export function unfinishedOf({ trigger: { data }, steps }: FlowContent): Unfinished | null {
  const unfinished = allSteps(steps).filter(({ step }) => !isFinished(step));
  const isTrigger = !areComplete(data.filters, 'trigger') || !areComplete(data.exit_filters, 'trigger');
  if (unfinished.length === 0 && !isTrigger) return null;
  const errors: [string, FieldErrors][] = unfinished.map(({ step }) => [String(keyOf(step)), UNFINISHED]);
  return { steps: Object.fromEntries(errors), isTrigger };
}
