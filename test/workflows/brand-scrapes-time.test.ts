// A newer scrape of a brand interrupts the older one, and a scrape survives the death of its worker.
import { expect, it } from '@jest/globals';
import { cancellationSignal, Context, heartbeat } from '@temporalio/activity';
import type { TestWorkflowEnvironment } from '@temporalio/testing';
import { Worker } from '@temporalio/worker';
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
import { type TestApi, startTestApi } from '../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../support/dns/server.ts';
import { sharedWorkflowBundle } from '../support/engine.ts';
import { createTestScrapes, scrapeSettings, type TestScrapes } from '../support/scrapes.ts';
import { testsThatNeed } from '../support/tests-that-need.ts';
import { createTimeSkippingEnvironment } from '../support/time-skipping.ts';
import { startWebsites, type Websites } from '../support/websites.ts';
import { until } from './until.ts';

const { afterAll, beforeAll, beforeEach, describe } = testsThatNeed('time-skipping server');

let env: TestWorkflowEnvironment;
let api: TestApi;
let dns: TestDnsServer;
let sites: Websites;
let scrapes: TestScrapes;

beforeAll(async () => {
  installRuntime(pino({ level: 'silent' }));
  sites = await startWebsites();
  const local = { A: ['127.0.0.1'] };
  dns = await startDnsServer({ 'inline.test': local, 'dark.test': local, 'hanging.test': local });
  [env, api] = await Promise.all([
    createTimeSkippingEnvironment(),
    startTestApi({ env: scrapeSettings(dns.address) }),
  ]);
  scrapes = createTestScrapes(api, { quotaBytes: 0 });
}, 120_000);
afterAll(async () => {
  await env.teardown();
  await Promise.all([scrapes.close(), api.close(), sites.close()]);
  dns.close();
});
beforeEach(async () => {
  await api.database.pool.query('truncate brand_scrapes');
  sites.requests = [];
});

/** As the worker has them. */
function realActivities(): ScrapeActivities {
  const { pool } = api.database;
  return {
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
  };
}

async function withWorkers<T>(replaced: Partial<ScrapeActivities>, work: () => Promise<T>): Promise<T> {
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
}

/** Posts a scrape, and asks the engine for what the outbox would. */
async function scrape(host: string) {
  const posted = await api.request('POST', '/v1/my/brand/scrape', { body: { url: sites.url(host) } });
  expect(posted.status).toBe(202);
  const { rows } = await api.database.pool.query<{ id: number }>('select max(id) as id from brand_scrapes');
  return env.client.workflow.signalWithStart(scrapeBrandType, {
    workflowId: scrapeWorkflowId(api.brandId),
    taskQueue: 'orchestration',
    args: [{ schema: 1, brandId: api.brandId, accountId: api.accountId }],
    signal: scrapeSignals.scrape,
    signalArgs: [rows[0]?.id ?? 0],
  });
}

const shown = async () => (await api.request('GET', '/v1/my/brand')).body;
const statuses = async () =>
  (await api.database.pool.query('select status, error from brand_scrapes order by id')).rows;

describe('the workflow of the scrapes of a brand', () => {
  it('interrupts a scrape for a newer one, and ends when none is left', async () => {
    sites.handlers['hanging.test'] = () => undefined;
    await withWorkers({}, async () => {
      await scrape('hanging.test');
      await until(async () => sites.requests.includes('GET hanging.test/robots.txt'));
      const handle = await scrape('dark.test');
      await handle.result();
      expect(await handle.query('state')).toEqual({
        phase: 'done',
        scrapeId: expect.any(Number),
        replaced: 1,
      });
    });
    expect(await statuses()).toEqual([
      { status: 'discarded', error: null },
      { status: 'completed', error: null },
    ]);
    expect(await shown()).toMatchObject({ bg_color: '#0b0b12', scrape: { url: sites.url('dark.test') } });
  });

  it('begins again if the process that reads the website dies', async () => {
    const runBrandScrape: ScrapeActivities['runBrandScrape'] = async (id) => {
      // A process that was killed sends no heartbeat and never answers. This one ends with the test.
      if (Context.current().info.attempt === 1) await Context.current().cancelled;
      return realActivities().runBrandScrape(id);
    };
    await withWorkers({ runBrandScrape }, async () => {
      await (await scrape('inline.test')).result();
    });
    expect(await statuses()).toEqual([{ status: 'completed', error: null }]);
  });

  it('fails a scrape that cannot be carried out', async () => {
    const runBrandScrape = async () => {
      throw new Error('no thread can be started');
    };
    await withWorkers({ runBrandScrape }, async () => (await scrape('inline.test')).result());
    expect(await statuses()).toEqual([{ status: 'failed', error: 'timeout' }]);
  });
});
