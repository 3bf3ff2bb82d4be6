import type { ScanState } from './contract.ts';

const phases: Record<ScanState['phase'], (state: ScanState) => string> = {
  scanning: () => 'is scanned',
  waiting: ({ retryAt }) => `waits for the virus scanner until ${retryAt}`,
  done: () => 'has been scanned',
};

/** Describes the scan in Markdown, for an operator. */
export function describeScan(conversationMessageId: number, state: ScanState): string {
  const { files, finished, problem, reported, phase } = state;
  return [
    `Mail ${conversationMessageId} ${phases[phase](state)}.`,
    '',
    `- files with a result: ${finished} of ${files}`,
    ...(problem === null ? [] : [`- problem: ${problem}`]),
    ...(reported ? ['- it has arrived without waiting for all results'] : []),
    ...(phase === 'done' ? [] : ['', 'The signal `wake` scans now.']),
  ].join('\n');
}
