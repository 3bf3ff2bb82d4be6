import { ContentEngineUnavailableError, type Problem } from '../../delivery/content/templates/content.ts';
import type { Channel } from '../../delivery/terms/message.ts';
import { AppError, invalid, type ValidationErrors } from '../../errors.ts';

/** Waits for the content engine. @throws AppError unavailable */
export async function fromEngine<T>(work: Promise<T> | T): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof ContentEngineUnavailableError)) throw error;
    throw new AppError('unavailable', 'contents cannot be compiled now; try again', { cause: error });
  }
}

/** Describes a problem in words that follow the name of its field: `body cannot be used: line 2: …`. */
export function fieldMessage({ code, message }: Problem): string {
  if (code === 'missing_content') return 'has no content';
  return code === 'too_slow' ? message : `cannot be used: ${message}`;
}

/** The error of a field whose template is for the other channel. */
export function otherChannel(given: Channel, needed: Channel): string {
  return `names a template for ${given} instead of ${needed}`;
}

/** Converts problems to errors of a request. */
export function errorsOf(problems: readonly Problem[]): ValidationErrors {
  const errors: ValidationErrors = {};
  for (const problem of problems) {
    errors[problem.field] = [...(errors[problem.field] ?? []), fieldMessage(problem)];
  }
  return errors;
}

/**
 * Refuses a content with mistakes. Missing content may still follow, and mistakes in parts of the brand are not the
 * template's.
 * @throws AppError validation_error
 */
export function requireNoMistakes(problems: readonly Problem[]): void {
  const mistakes = problems.filter(
    ({ code, field }) => code !== 'missing_content' && !field.startsWith('brand.'),
  );
  if (mistakes.length > 0) throw invalid(errorsOf(mistakes));
}
