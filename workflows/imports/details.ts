import type { ImportState } from './contract.ts';

const phases: Record<ImportState['phase'], string> = {
  waiting: 'waits for other imports of the account, and looks again every 15 seconds',
  inspecting: 'looks through the file',
  importing: 'imports rows',
  clearing: 'has ended and removes its file',
  done: 'has ended',
};

/** Describes the import in Markdown, for an operator. */
export function describeImport(importId: number, state: ImportState): string {
  const { createdCount, updatedCount, unchangedCount, duplicateCount, failedCount } = state;
  const processed = createdCount + updatedCount + unchangedCount + duplicateCount + failedCount;
  return [
    `Import ${importId} ${phases[state.phase]}.`,
    '',
    `- rows: ${processed} of ${state.totalRows ?? 'an unknown number'}`,
    `- created: ${createdCount}, updated: ${updatedCount}, unchanged: ${unchangedCount}`,
    `- duplicates: ${duplicateCount}, failed: ${failedCount}`,
  ].join('\n');
}
