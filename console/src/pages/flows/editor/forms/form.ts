/** What the form of a step gets. */
import type { AudienceNames } from '../../../../api/choices.ts';
import type { FlowContent, Step } from '../model.ts';
import type { FieldErrors } from '../problems.ts';

export interface StepFormProps {
  step: Step;
  /** A field that is undefined is removed. */
  change: (patch: Partial<Step>) => void;
  /** By the path of the field, such as `until.time`. */
  errors: FieldErrors;
  content: FlowContent;
  names: AudienceNames;
}

/** Returns the errors below a field, by their paths from it. */
export function errorsBelow(errors: FieldErrors, field: string): FieldErrors {
  const below = Object.entries(errors).flatMap(([path, texts]) => {
    if (path === field) return [['', texts] as const];
    return path.startsWith(`${field}.`) ? [[path.slice(field.length + 1), texts] as const] : [];
  });
  return Object.fromEntries(below);
}

/** Returns all errors of a field and below it, without their paths. */
export const allErrors = (errors: FieldErrors, field: string): string[] =>
  Object.values(errorsBelow(errors, field)).flat();
