import type { FlowRunState } from './contract.ts';

/** Describes a run in Markdown, for an operator. */
export function describeFlowRun({ sentence, stepId, steps }: FlowRunState): string {
  const at = stepId === null ? '' : ` It is at step ${stepId}.`;
  return [
    `The run ${sentence}.`,
    '',
    `${steps} ${steps === 1 ? 'step was' : 'steps were'} done.${at} The signal \`cancel\` ends it.`,
  ].join('\n');
}
