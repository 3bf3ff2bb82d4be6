import { startTestServices } from './test-services.ts';
import { keepForTeardown } from './run-state.ts';

/** Runs once before all test files, in Jest's own process. */
export default async function setUp(): Promise<void> {
  const services = await startTestServices();
  process.env.CARILLON_TEST_SERVICES = services.address;
  keepForTeardown(services);
}
