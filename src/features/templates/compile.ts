import { ContentEngineUnavailableError, type Problem } from '../../delivery/contents/content.ts';
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

/** Problems as errors of a request. @param prefix of the fields, such as `template_attributes.` */
export function errorsOf(problems: readonly Problem[], prefix = ''): ValidationErrors {
  const errors: ValidationErrors = {};
  for (const { field, message } of problems) {
    const path = `${prefix}${field}`;
    errors[path] = [...(errors[path] ?? []), message];
  }
  return errors;
}

/**
 * Refuses a content with mistakes. What is only missing may come later, and a mistake in a part of the brand is not
 * the template's.
 * @throws AppError validation_error
 */
export function requireNoMistakes(problems: readonly Problem[]): void {
  const mistakes = problems.filter(
    ({ code, field }) => code !== 'missing_content' && !field.startsWith('brand.'),
  );
  if (mistakes.length > 0) throw invalid(errorsOf(mistakes));
}
