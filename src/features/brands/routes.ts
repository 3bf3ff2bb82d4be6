import type pg from 'pg';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import type { Database } from '../../platform/db/database.ts';
import { findOutcome, withIdempotency } from '../../platform/db/idempotency.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { Egress } from '../../platform/egress/client.ts';
import { idempotentRequest } from '../../platform/http/middlewares/idempotency.ts';
import {
  defineRoute,
  type JsonResult,
  type RouteDefinition,
  type RouteInput,
} from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createSignedIds } from '../../platform/secrets/signed-id.ts';
import { createImageReferences } from '../uploads/service.ts';
import {
  brandReadOnlyFields,
  brandSchema,
  putBrandBody,
  scrapeBody,
  type ScrapeBody,
  scrapeStarted,
} from './schema.ts';
import { findScrape } from './scrape/model.ts';
import { requireWebsite, startScrape } from './scrape/start.ts';
import { type BrandService, createBrandPresenter, createBrandService } from './service.ts';

export interface BrandRouteDeps {
  database: Database;
  keyring: Keyring;
  websites: Egress;
  waker: Waker;
}

const tag = 'Brand';
const SCRAPE_PATH = '/v1/my/brand/scrape';

interface ScrapeParts {
  pool: pg.Pool;
  brands: BrandService;
  websites: Egress;
  waker: Waker;
}

type ScrapeInput = RouteInput<unknown, unknown, ScrapeBody, AccountTenant>;

/** Looks the address up first, outside the transaction. A replay does not need it. */
async function scrape(parts: ScrapeParts, input: ScrapeInput): Promise<JsonResult> {
  const { pool, brands, websites, waker } = parts;
  const { tenant, body } = input;
  const early = idempotentRequest(input, `POST ${SCRAPE_PATH}`);
  const isReplay = early !== null && (await findOutcome(pool, early)) !== null;
  const url = isReplay ? body.url : await requireWebsite(websites, body.url);
  const scope = { accountId: tenant.accountId, brandId: await brands.ensure(tenant) };
  const request = idempotentRequest({ ...input, tenant: { ...tenant, ...scope } }, `POST ${SCRAPE_PATH}`);
  return withIdempotency(
    pool,
    request,
    async (trx) => ({
      status: 202,
      body: { status: 'scraping', url },
      resourceId: await startScrape(trx, scope, { url, overwrite: body.overwrite }),
      afterCommit: () => waker.wake('outbox'),
    }),
    async (id) => {
      const found = await findScrape(pool, scope, id);
      return found && { status: 'scraping', url: found.url };
    },
  );
}

function scrapeRoute(parts: ScrapeParts): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: SCRAPE_PATH,
    operationId: 'scrapeBrand',
    tag,
    summary: 'Fill the brand from a website',
    description:
      'Reads the page at an address in the background: colors, fonts, logo, company name, description, postal address, ' +
      'social links, example copy and tone. Poll `GET /brand` until `scrape.status` is `completed` or `failed`. Fields ' +
      'that are empty, or that an earlier scrape filled, get what is found; `overwrite` also replaces what was edited ' +
      'before the scrape began. A newer scrape replaces one that runs. If the account has no brand yet, one is created. ' +
      'A brand may be scraped ten times an hour, and all brands of an account thirty times.',
    auth: 'account',
    testKeys: 'refused',
    idempotency: 'own',
    body: scrapeBody,
    responses: { 202: { description: 'The scrape has begun', schema: scrapeStarted } },
    handler: (input) => scrape(parts, input),
  });
}

/** `GET` and `PUT /v1/my/brand`, and `POST /v1/my/brand/scrape`. */
export function createBrandRoutes({
  database: { pool },
  keyring,
  websites,
  waker,
}: BrandRouteDeps): RouteDefinition[] {
  const images = createImageReferences(pool, createSignedIds(keyring));
  const brands = createBrandService({ pool, images });
  const presentBrand = createBrandPresenter(images);
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/my/brand',
      operationId: 'getBrand',
      tag,
      summary: 'Show the current brand',
      description: 'Null if the account has no brand yet.',
      auth: 'account',
      testKeys: 'allowed',
      responses: { 200: { description: 'The brand, or null', schema: brandSchema.nullable() } },
      async handler({ tenant, publicUrl }) {
        const brand = await brands.find(tenant);
        return { status: 200, body: brand && presentBrand(brand, publicUrl) };
      },
    }),
    defineRoute({
      method: 'PUT',
      path: '/v1/my/brand',
      operationId: 'putBrand',
      tag,
      summary: 'Change the current brand',
      description:
        'A field left out stays as it is; null clears it. If the account has no brand yet, one is created.',
      auth: 'account',
      testKeys: 'refused',
      body: putBrandBody,
      readOnlyFields: brandReadOnlyFields,
      responses: { 200: { description: 'The brand', schema: brandSchema } },
      async handler({ tenant, body, publicUrl }) {
        return { status: 200, body: presentBrand(await brands.put(tenant, body), publicUrl) };
      },
    }),
    scrapeRoute({ pool, brands, websites, waker }),
  ];
}
