import { runScrape, type ScrapeRunDeps } from '../../src/features/brands/scrape/finish.ts';
import { takeNextScrape } from '../../src/features/brands/scrape/model.ts';
import { createPageReaders } from '../../src/features/brands/scrape/page/reader.ts';
import { createWebsiteScraper } from '../../src/features/brands/scrape/website/scrape.ts';
import type { ToneFinder } from '../../src/features/brands/scrape/website/tone.ts';
import { createUploads } from '../../src/features/uploads/service.ts';
import { createSignedIds } from '../../src/platform/secrets/signed-id.ts';
import { createResolver } from '../../src/platform/dns/resolver.ts';
import { createEgress } from '../../src/platform/egress/client.ts';
import { createHomeStore } from '../../src/platform/storage/local-disk.ts';
import type { TestApi } from './api.ts';
import { testKeyring } from './webhooks.ts';

/**
 * Settings with which a test API and its scrapes reach websites on loopback, whose names a test's DNS server resolves.
 */
export const scrapeSettings = (dnsServer: string) => ({ SCRAPE_ALLOW: '127.0.0.1', DNS_SERVERS: dnsServer });

export interface TestScrapes {
  deps: ScrapeRunDeps;
  /** Carries out the brand's unfinished scrape, like its workflow does. */
  runNext(brandId: number, signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

/** The worker's dependencies for scrapes. */
export function createTestScrapes(
  { config, database: { pool } }: TestApi,
  { tone = null, quotaBytes = 10_000_000 }: { tone?: ToneFinder | null; quotaBytes?: number } = {},
): TestScrapes {
  const resolver = createResolver(config.DNS_SERVERS);
  const egress = createEgress({ resolver, allow: config.SCRAPE_ALLOW, userAgent: 'Carillon-Brand/1' });
  const readers = createPageReaders({ limitMs: 60_000 });
  const deps = {
    pool,
    scraper: createWebsiteScraper({ egress, readers, tone }),
    uploads: createUploads({
      db: pool,
      store: createHomeStore(config.CARILLON_HOME),
      signedIds: createSignedIds(testKeyring),
      quotaBytes,
    }),
  };
  return {
    deps,
    async runNext(brandId, signal = new AbortController().signal) {
      const id = await takeNextScrape(pool, brandId);
      if (id !== null) await runScrape(deps, id, signal);
    },
    async close() {
      await egress.close();
      await readers.close();
    },
  };
}
