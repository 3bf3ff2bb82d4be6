import { engineService } from './engine-service.ts';
import { keepForTeardown } from './run-state.ts';
import { startTestServices } from './test-services.ts';
import { getTools } from './tools.ts';

/** Runs once before all test files, in Jest's own process. */
export default async function setUp(): Promise<void> {
  const cache = await getTools();
  const services = await startTestServices({ engine: engineService(cache) });
  process.env.CARILLON_TEST_SERVICES = services.address;
  keepForTeardown(services);
}
