import type { Logger } from 'pino';
import type { Config } from '../src/config.ts';
import { countAi } from '../src/delivery/ledger/money/usage.ts';
import { runScrape } from '../src/features/brands/scrape/finish.ts';
import { endScrape, findUnfinished, takeNextScrape } from '../src/features/brands/scrape/model.ts';
import { createPageReaders } from '../src/features/brands/scrape/page/reader.ts';
import { createWebsiteScraper } from '../src/features/brands/scrape/website/scrape.ts';
import { createToneFinder, type ToneFinder } from '../src/features/brands/scrape/website/tone.ts';
import { ROBOT } from '../src/features/brands/scrape/website/website.ts';
import { createUploads } from '../src/features/uploads/service.ts';
import type { Database } from '../src/platform/db/database.ts';
import type { Resolver } from '../src/platform/dns/resolver.ts';
import { createEgress } from '../src/platform/egress/client.ts';
import type { Keyring } from '../src/platform/secrets/keyring.ts';
import { createSignedIds } from '../src/platform/secrets/signed-id.ts';
import { createHomeStore } from '../src/platform/storage/local-disk.ts';
import type { ScrapeActivities } from '../workflows/brands/contract.ts';
import { createTurns } from './turns.ts';

/** Number of websites that one process reads concurrently. They mostly wait for servers. */
const LIMITS = { slots: 8, perKey: 4 };
/** The user agent of requests to the AI endpoint. */
const USER_AGENT = 'Carillon/1';
/** The operator has configured the AI endpoint, so it may have any address. */
const ANYWHERE = ['0.0.0.0/0', '::/0'];
const MEGABYTE = 1024 * 1024;

export interface BrandActivityDependencies {
  config: Config;
  database: Database;
  keyring: Keyring;
  resolver: Resolver;
  log: Logger;
  /** Aborted when the process is about to stop. */
  stopping: AbortSignal;
  /** Certificates (PEM) to trust instead of the system's; for tests. */
  ca?: string[];
}

function toneFinder({ config, database, resolver, log }: BrandActivityDependencies): ToneFinder | null {
  const { AI_URL: url, AI_KEY: key, AI_MODEL: model } = config;
  if (url === undefined || model === undefined) return null;
  return createToneFinder({
    egress: createEgress({ resolver, allow: ANYWHERE, userAgent: USER_AGENT }),
    endpoint: { url, key, model },
    count: (accountId) => countAi(database.pool, accountId),
    log,
  });
}

/** The activities of the workflow `brand-scrape/<brand>`. */
export function createBrandActivities(deps: BrandActivityDependencies): ScrapeActivities {
  const { config, database, keyring, resolver, stopping, ca } = deps;
  const { pool } = database;
  const inTurn = createTurns(LIMITS, stopping);
  const options = { resolver, allow: config.SCRAPE_ALLOW, userAgent: `${ROBOT}/1` };
  const run = {
    pool,
    scraper: createWebsiteScraper({
      egress: createEgress(ca ? { ...options, ca } : options),
      readers: createPageReaders(),
      tone: toneFinder(deps),
    }),
    uploads: createUploads({
      db: pool,
      store: createHomeStore(config.CARILLON_HOME),
      signedIds: createSignedIds(keyring),
      quotaBytes: config.UPLOAD_QUOTA_MB * MEGABYTE,
    }),
  };
  return {
    nextBrandScrape: (brandId) => takeNextScrape(pool, brandId),
    async runBrandScrape(scrapeId) {
      const scrape = await findUnfinished(pool, scrapeId);
      if (!scrape) return;
      await inTurn(scrape.account_id, (turn) => runScrape(run, scrapeId, turn.stopping));
    },
    async failBrandScrape(scrapeId) {
      await endScrape(pool, scrapeId, { error: 'timeout' });
    },
  };
}
