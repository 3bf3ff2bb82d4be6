import { takeForTeardown } from './run-state.ts';

/** Runs once after all test files. */
export default async function tearDown(): Promise<void> {
  await takeForTeardown()?.stop();
}
