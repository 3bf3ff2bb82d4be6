// Slow scrapes of one account do not stop the scrapes of another account.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { DefaultLogger } from '@temporalio/worker';
import pino from 'pino';
import { createBrandActivities } from '../../activities/brands.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { startDnsServer, type TestDnsServer } from '../support/dns/server.ts';
import { eventually } from '../support/eventually.ts';
import { scrapeSettings } from '../support/scrapes.ts';
import { testKeyring } from '../support/webhooks.ts';
import { startWebsites, type Websites } from '../support/websites.ts';

let api: TestApi;
let dns: TestDnsServer;
let sites: Websites;

beforeAll(async () => {
  sites = await startWebsites();
  const local = { A: ['127.0.0.1'] };
  dns = await startDnsServer({ 'hanging.test': local, 'other.test': local });
  api = await startTestApi({ env: scrapeSettings(dns.address) });
});
afterAll(async () => {
  await Promise.all([api.close(), sites.close()]);
  dns.close();
});

it('scrapes for another account while scrapes of one account wait', async () => {
  const { database, config } = api;
  const stopping = new AbortController();
  const { runBrandScrape } = createBrandActivities({
    ...{ config, database, keyring: testKeyring, stopping: stopping.signal },
    resolver: createResolver(config.DNS_SERVERS),
    log: pino({ level: 'silent' }),
  });
  const begin = async ({ accountId, brandId }: { accountId: number; brandId: number }, host: string) => {
    const { rows } = await database.pool.query<{ id: number }>(
      `insert into brand_scrapes (account_id, brand_id, url, overwrite, before)
       values ($1, $2, $3, false, '{}') returning id`,
      [accountId, brandId, sites.url(host)],
    );
    const logger = new DefaultLogger('ERROR', () => undefined);
    await new MockActivityEnvironment({}, { logger }).run(runBrandScrape, rows[0]?.id ?? 0);
  };
  sites.handlers['hanging.test'] = sites.handlers['other.test'] = () => undefined;
  const running = Array.from({ length: 9 }, () => begin(api, 'hanging.test'));
  await eventually(() => expect(sites.requests.length).toBeGreaterThanOrEqual(4));
  running.push(begin(api.other, 'other.test'));
  await eventually(() => expect(sites.requests).toContain('GET other.test/robots.txt'), 60_000);
  const hanging = sites.requests.filter((request) => request === 'GET hanging.test/robots.txt');
  expect(hanging).toHaveLength(4);
  stopping.abort();
  await Promise.allSettled(running);
}, 90_000);
