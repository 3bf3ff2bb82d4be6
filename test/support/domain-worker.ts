import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
import pino from 'pino';
import { createDomainActivities } from '../../activities/domains.ts';
import { loadConfig } from '../../src/config.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { searchAttributeNames } from '../../src/platform/temporal/contract.ts';
import type { DomainActivities } from '../../workflows/domains/contract.ts';
import type { TestDatabase } from './database.ts';
import type { TestDnsServer } from './dns/server.ts';
import { sharedWorkflowBundle } from './engine.ts';
import { testEvents } from './events.ts';
import { createTimeSkippingEnvironment } from './time-skipping.ts';
import { testKeyring } from './webhooks.ts';

const KEYWORD = 2;

/** A worker that runs the workflows of domains in an engine that skips time. */
export interface DomainWorker {
  env: TestWorkflowEnvironment;
  stop(): Promise<void>;
}

/** @param observed wraps the activities */
export async function startDomainWorker(
  { database }: TestDatabase,
  dns: TestDnsServer,
  observed: (activities: DomainActivities) => DomainActivities = (activities) => activities,
): Promise<DomainWorker> {
  const env = await createTimeSkippingEnvironment();
  await env.connection.operatorService.addSearchAttributes({
    namespace: 'default',
    searchAttributes: Object.fromEntries(searchAttributeNames.map((name) => [name, KEYWORD])),
  });
  const activities = createDomainActivities({
    config: loadConfig({ MAIL_DOMAIN: 'mail.test', EGRESS_ALLOW: '127.0.0.0/8' }),
    keyring: testKeyring,
    log: pino({ level: 'silent' }),
    database,
    waker: { wake: () => undefined },
    // Long enough for a busy machine; a silent name server takes twice as long.
    resolver: createResolver([dns.address], { recordTimeoutMs: 1_500 }),
    events: testEvents,
  });
  const worker = await Worker.create({
    connection: env.nativeConnection,
    taskQueue: 'orchestration',
    workflowBundle: await sharedWorkflowBundle(),
    activities: observed(activities),
  });
  const running = worker.run();
  return {
    env,
    async stop() {
      worker.shutdown();
      await running;
      await env.teardown();
    },
  };
}
