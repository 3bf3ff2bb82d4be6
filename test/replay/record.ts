import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pino from 'pino';
import { loadConfig, type Config } from '../../src/config.ts';
import { upkeep } from '../../src/features/upkeep.ts';
import { findEngineProgram } from '../../src/local/engine/program.ts';
import { openDatabase } from '../../src/platform/db/database.ts';
import { registerProcess } from '../../src/platform/processes/process.ts';
import { openEngine } from '../../src/platform/temporal/connection.ts';
import { run as runWorker } from '../../src/roles/worker.ts';
import { TEST_SECRET } from '../support/api.ts';
import { createTestDatabase } from '../support/database.ts';
import { startDnsServer } from '../support/dns/server.ts';
import { startFakeClamd } from '../support/fake-clamd.ts';
import { startFakeStripe, STRIPE_KEY } from '../support/fake-stripe.ts';
import { engineService } from '../support/engine-service.ts';
import { useEngine } from '../support/engine.ts';
import { createTestStore } from '../support/mail-scans.ts';
import { startTestServices } from '../support/test-services.ts';
import { getTools } from '../support/tools.ts';
import { attachLoops, createTestLoop } from '../workflows/test-loop.ts';
import { RECORDED_SCHEDULE, scenarios, type Stage } from './scenarios.ts';

/**
 * Records the scenarios that have no history yet: `node test/replay/record.ts`. An existing history is never recorded
 * again, because it stands for the workflows that run while a new version is deployed.
 */
const folder = fileURLToPath(new URL('./histories/', import.meta.url));

/** Removes the name of the machine. */
function hideMachine(key: string, value: unknown): unknown {
  if (key === 'identity') return 'recorder';
  return typeof value === 'string' ? value.replaceAll(hostname(), 'recorder') : value;
}

async function save(program: string, config: Config, workflowId: string, file: string): Promise<void> {
  const address = ['--address', config.TEMPORAL_ADDRESS ?? '', '--namespace', config.TEMPORAL_NAMESPACE];
  const args = ['workflow', 'show', '--workflow-id', workflowId, '--output', 'json', ...address];
  const { stdout } = await promisify(execFile)(program, args, { maxBuffer: 64 * 1024 * 1024 });
  const history: unknown = JSON.parse(stdout, hideMachine);
  await writeFile(file, `${JSON.stringify(history, null, 1)}\n`);
}

async function onStage(
  config: Config,
  { dns, stripe, clamd, files }: Pick<Stage, 'dns' | 'stripe' | 'clamd' | 'files'>,
  work: (stage: Stage) => Promise<void>,
  url: string,
): Promise<void> {
  const log = pino({ level: 'silent' });
  const live = await registerProcess({ url }, 'sender', upkeep.processWork);
  const [send, webhook] = [createTestLoop('send', live.id() ?? 0), createTestLoop('webhook', live.id() ?? 0)];

  const database = openDatabase({ url });
  const engine = openEngine(config);
  const worker = await runWorker(config);
  const attachment = await attachLoops({ config, database, loops: [send, webhook], log });
  try {
    await work({ client: engine.client, database, dns, stripe, clamd, files, send, webhook });
  } finally {
    await attachment.stop();
    await worker.stop();
    await engine.close();
    await database.close();
    await live.close();
  }
}

const { cache } = await getTools();
const services = await startTestServices({ engine: engineService(cache) });
process.env.CARILLON_TEST_SERVICES = services.address;
try {
  const { address, namespace } = await useEngine();
  const test = await createTestDatabase();
  const dns = await startDnsServer();
  const stripe = await startFakeStripe({ plain: true });
  const clamd = await startFakeClamd();
  const files = await createTestStore();
  const config = loadConfig({
    CARILLON_HOME: files.home,
    CLAMD_URL: clamd.url,
    TEMPORAL_ADDRESS: address,
    TEMPORAL_NAMESPACE: namespace,
    DATABASE_URL: test.url,
    APP_SECRET: TEST_SECRET,
    EGRESS_ALLOW: '127.0.0.0/8',
    SCRAPE_ALLOW: '127.0.0.0/8',
    DNS_SERVERS: dns.address,
    MAIL_DOMAIN: 'mail.test',
    STRIPE_API_URL: stripe.baseUrl,
    STRIPE_SECRET_KEY: STRIPE_KEY,
    WEBHOOK_RETRY_SCHEDULE: RECORDED_SCHEDULE.join(','),
    LOG_LEVEL: 'silent',
    SHUTDOWN_GRACE_SECONDS: '1',
  });
  const program = await findEngineProgram({ cache, progress: () => undefined });
  const recordAll = async (stage: Stage) => {
    for (const scenario of scenarios) {
      const file = `${folder}${scenario.name}.json`;
      if (existsSync(file)) continue;
      await save(program, config, await scenario.run(stage), file);
      process.stdout.write(`recorded ${scenario.name}\n`);
    }
  };
  await onStage(config, { dns, stripe, clamd, files }, recordAll, test.url);
  await stripe.close();
  await clamd.close();
  await files.remove();
  dns.close();
  await test.drop();
} finally {
  await services.stop();
}
