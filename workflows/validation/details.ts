import type { ValidationState } from './contract.ts';

const phases: Record<ValidationState['phase'], string> = {
  waiting: 'waits for another validation of the account, and looks again every 15 seconds',
  collecting: 'takes its candidates',
  checking: 'checks addresses',
  retrying: 'waits for mail servers that asked for another attempt',
  done: 'has ended and is settled',
};

/** Describes the operation in Markdown, for an operator. */
export function describeValidation(operationId: number, state: ValidationState): string {
  const until = state.phase === 'retrying' && state.retryAt !== null ? `, until ${state.retryAt}` : '';
  return [
    `Validation ${operationId} ${phases[state.phase]}${until}.`,
    '',
    `- checked: ${state.checkedCount} of ${state.candidateCount}`,
  ].join('\n');
}
