import { cancellationSignal, heartbeat } from '@temporalio/activity';
import type { WorkflowHandle } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { expect } from '@jest/globals';
import pino from 'pino';
import { runScrape } from '../../src/features/brands/scrape/finish.ts';
import { endScrape, takeNextScrape } from '../../src/features/brands/scrape/model.ts';
import { installRuntime } from '../../src/platform/temporal/worker.ts';
import {
  type ScrapeActivities,
  scrapeBrandType,
  scrapeSignals,
  scrapeWorkflowId,
} from '../../workflows/brands/contract.ts';
import { startTestApi } from '../support/api.ts';
import { startDnsServer } from '../support/dns/server.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';
import { createTestScrapes, scrapeSettings } from '../support/scrapes.ts';
import { createTimeSkippingEnvironment } from '../support/time-skipping.ts';
import { startWebsites, type Websites } from '../support/websites.ts';

/** The workflow of the scrapes of one brand, on an engine that skips time, and websites for it to read. */
export interface ScrapeStage {
  sites: Websites;
  /** The activities as the worker has them. */
  realActivities(): ScrapeActivities;
  withWorkers<T>(replaced: Partial<ScrapeActivities>, work: () => Promise<T>): Promise<T>;
  /** Posts a scrape, and asks the engine for what the outbox would. */
  scrape(host: string): Promise<WorkflowHandle>;
  /** The brand as the API shows it. */
  shown(): Promise<unknown>;
  /** Of all scrapes, in order. */
  statuses(): Promise<unknown[]>;
  /** Forgets what happened. Call it before each test. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

export async function startScrapeStage(): Promise<ScrapeStage> {
  installRuntime(pino({ level: 'silent' }));
  const sites = await startWebsites();
  const local = { A: ['127.0.0.1'] };
  const dns = await startDnsServer({ 'inline.test': local, 'dark.test': local, 'hanging.test': local });
  const [env, api] = await Promise.all([
    createTimeSkippingEnvironment(),
    startTestApi({ env: scrapeSettings(dns.address) }),
  ]);
  const scrapes = createTestScrapes(api, { quotaBytes: 0 });
  const { pool } = api.database;

  const realActivities = (): ScrapeActivities => ({
    nextBrandScrape: (brandId) => takeNextScrape(pool, brandId),
    async runBrandScrape(id) {
      const timer = setInterval(() => heartbeat(), 200);
      try {
        await runScrape(scrapes.deps, id, cancellationSignal());
      } finally {
        clearInterval(timer);
      }
    },
    async failBrandScrape(id) {
      await endScrape(pool, id, { error: 'timeout' });
    },
  });

  return {
    sites,
    realActivities,
    async withWorkers(replaced, work) {
      const activities = { ...realActivities(), ...replaced };
      const throttle = {
        maxHeartbeatThrottleInterval: '200ms',
        defaultHeartbeatThrottleInterval: '200ms',
      } as const;
      const options = { connection: env.nativeConnection, activities, ...throttle };
      const workflowBundle = await sharedWorkflowBundle();
      const workers = [
        await Worker.create({ ...options, taskQueue: 'orchestration', workflowBundle }),
        await Worker.create({ ...options, taskQueue: 'bulk' }),
      ];
      const running = workers.map((worker) => worker.run());
      try {
        return await work();
      } finally {
        for (const worker of workers) worker.shutdown();
        await Promise.all(running);
      }
    },
    async scrape(host) {
      const posted = await api.request('POST', '/v1/my/brand/scrape', { body: { url: sites.url(host) } });
      expect(posted.status).toBe(202);
      const { rows } = await pool.query<{ id: number }>('select max(id) as id from brand_scrapes');
      return env.client.workflow.signalWithStart(scrapeBrandType, {
        workflowId: scrapeWorkflowId(api.brandId),
        taskQueue: 'orchestration',
        args: [{ schema: 1, brandId: api.brandId, accountId: api.accountId }],
        signal: scrapeSignals.scrape,
        signalArgs: [rows[0]?.id ?? 0],
      });
    },
    shown: async () => (await api.request('GET', '/v1/my/brand')).body,
    statuses: async () => (await pool.query('select status, error from brand_scrapes order by id')).rows,
    async clear() {
      await pool.query('truncate brand_scrapes');
      sites.requests = [];
    },
    async close() {
      await env.teardown();
      await Promise.all([scrapes.close(), api.close(), sites.close()]);
      dns.close();
    },
  };
}
