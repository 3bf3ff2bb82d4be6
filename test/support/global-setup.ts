import { wholeService } from './whole-service.ts';
import { engineService, workflowBundleService } from './engine-service.ts';
import { keepForTeardown, startTestServices } from './test-services.ts';
import { announceMissingTools, getTools } from './tools.ts';

/** Runs once before all test files, in Jest's own process. */
export default async function setUp(): Promise<void> {
  const { cache, missing } = await getTools();
  announceMissingTools(missing);
  const services = await startTestServices({
    engine: engineService(cache),
    'workflow-bundle': workflowBundleService,
    whole: wholeService,
  });
  process.env.CARILLON_TEST_SERVICES = services.address;
  keepForTeardown(services);
}
