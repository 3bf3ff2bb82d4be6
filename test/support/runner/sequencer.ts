import { createRequire } from 'node:module';
import { join } from 'node:path';
import type * as sequencing from '@jest/test-sequencer';

// Its types describe the CommonJS module, not what an import of it gives.
const require = createRequire(import.meta.url);
const { default: TestSequencer } = require('@jest/test-sequencer') as typeof sequencing.default;
type Tests = Awaited<ReturnType<InstanceType<typeof TestSequencer>['sort']>>;

/**
 * The test files that run longest, the longest first, without `.system.test.ts`. One that started last would run alone,
 * with a core idle. Jest knows how long files took on this machine, but on a clean clone only how large they are.
 */
export const LONGEST = [
  'platform/openapi/conformance',
  'crash/versions',
  'console/pages',
  'local/supervisor/supervisor',
  'crash/flows',
  'cli/start-role',
  'features/inbox/mail/fuzz',
  'crash/kill',
  'crash/campaigns',
  'crash/bulk-actions',
  'console/audience',
  'features/inbox/mail/memory',
  'local/postgres/closed-folder',
  'features/inbox/scan/outage',
  'crash/webhooks',
  'linear-time',
];

/** What {@link LONGEST} needs of Jest's description of a test file. */
interface TestFile {
  path: string;
  context: { config: { rootDir: string } };
}

function rankOf({ path, context }: TestFile): number {
  const rank = LONGEST.findIndex(
    (name) => path === join(context.config.rootDir, 'test', `${name}.system.test.ts`),
  );
  return rank === -1 ? LONGEST.length : rank;
}

/** Returns the files with the {@link LONGEST} first, and the others in their order. */
export const longestFirst = <File extends TestFile>(files: readonly File[]): File[] =>
  files.toSorted((one, other) => rankOf(one) - rankOf(other));

/** The `testSequencer` of jest.config.js: Jest's own order, but the longest files first. */
export default class LongestFirstSequencer extends TestSequencer {
  override async sort(tests: Tests): Promise<Tests> {
    return longestFirst(await super.sort(tests));
  }
}
