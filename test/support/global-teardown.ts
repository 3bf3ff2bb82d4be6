import { stopTestServices } from './test-services.ts';

/** Runs once after all test files. */
export default async function tearDown(): Promise<void> {
  await stopTestServices();
}
