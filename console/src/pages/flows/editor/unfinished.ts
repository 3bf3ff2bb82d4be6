/** Which filters the user has not finished, so that there is no need to ask the API about them. */
import type { Filter, Scope } from '../../../editors/filters/language.ts';
import { areComplete } from '../../../editors/filters/values.ts';
import { keyOf } from '../flow-layout.ts';
import { allSteps, type FlowContent, type Step } from './model.ts';
import type { FieldErrors, FlowProblems } from './problems.ts';

const areFinished = (filters: unknown, scope: Scope) =>
  areComplete((filters ?? []) as readonly Filter[], scope);

function isFinished({ type, filters }: Step): boolean {
  if (type === 'condition') return (filters ?? []).length > 0 && areFinished(filters, 'step');
  return type !== 'wait_for_event' || areFinished(filters, 'received');
}

const UNFINISHED: FieldErrors = { '': ['Its filters are not complete.'] };

/** @returns the steps with unfinished filters, by their keys as text; null if all filters are finished */
export function unfinishedOf({ trigger: { data }, steps }: FlowContent): FlowProblems['steps'] | null {
  const unfinished = allSteps(steps).filter(({ step }) => !isFinished(step));
  const isTriggerFinished = [data.filters, data.exit_filters].every((filters) =>
    areFinished(filters, 'trigger'),
  );
  if (unfinished.length === 0 && isTriggerFinished) return null;
  return Object.fromEntries(unfinished.map(({ step }) => [String(keyOf(step)), UNFINISHED]));
}
