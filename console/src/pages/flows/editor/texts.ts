/** Steps and places in words. */
import type { AudienceNames } from '../../../api/choices.ts';
import { branchesOf } from '../flow-layout.ts';
import { stepSummary, stepTitle, type FlowStep } from '../step-text.ts';
import { findStep, sequenceAt, type InsertionPoint, type Step } from './model.ts';

/** Returns the id of a step; `new 2` for the second of its type that is not yet published. */
export function keyText(step: Step): string {
  const { id, ref = '', type } = step;
  if (id !== undefined) return String(id);
  return ref.startsWith(`${type}_`) ? `new ${ref.slice(type.length + 1)}` : ref;
}

/** Returns a step in words, such as `Condition 4`. */
export const nameOf = (step: Step): string => `${stepTitle(step)} ${keyText(step)}`;

/** The same away from its box, where the number alone says little: an email by its subject, if it has one. */
export function fullNameOf(step: Step): string {
  const { type, subject } = step;
  return type === 'email' && subject ? `${stepTitle(step)} “${subject}”` : nameOf(step);
}

/** Returns a step with what it does, such as `Wait 2: 2 days`. */
export const stepLine = (step: Step, names: AudienceNames): string =>
  `${nameOf(step)}: ${stepSummary(step as FlowStep, names)}`;

/** Returns where an insertion point is, to continue "Add a step". */
export function insertionText(steps: readonly Step[], { branch, index }: InsertionPoint): string {
  const before = sequenceAt(steps, branch)?.[index - 1];
  if (before) return `after ${nameOf(before)}`;
  const owner = branch && findStep(steps, branch.step)?.step;
  const label = owner && branchesOf(owner).find(({ key }) => key === branch.key)?.label;
  return owner ? `in the branch “${label}” of ${nameOf(owner)}` : 'at the start';
}
