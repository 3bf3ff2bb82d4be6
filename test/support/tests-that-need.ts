import { afterAll, afterEach, beforeAll, beforeEach, describe } from '@jest/globals';
import { missingTools, type OptionalTool } from './tools.ts';

const noHook = () => undefined;

/**
 * Returns Jest's functions for tests that need a tool. If the machine lacks it, the tests are skipped, their hooks do
 * not run, and the run's output ends with the reason.
 */
export function testsThatNeed(tool: OptionalTool) {
  if (!(tool in missingTools())) return { describe, beforeAll, afterAll, beforeEach, afterEach };
  return {
    describe: describe.skip,
    beforeAll: noHook as typeof beforeAll,
    afterAll: noHook as typeof afterAll,
    beforeEach: noHook as typeof beforeEach,
    afterEach: noHook as typeof afterEach,
  };
}
