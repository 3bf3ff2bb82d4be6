import type pg from 'pg';
import type { Database } from '../../platform/db/database.ts';
import type { Waker } from '../../platform/db/wake.ts';
import type { Egress } from '../../platform/egress/client.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createSignedIds } from '../../platform/secrets/signed-id.ts';
import { createImageReferences } from '../uploads/service.ts';
import { createBrandListRoutes } from './list-routes.ts';
import { brandReadOnlyFields, brandSchema, putBrandBody, scrapeBody, scrapeStarted } from './schema.ts';
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

interface ScrapeParts {
  pool: pg.Pool;
  brands: BrandService;
  websites: Egress;
  waker: Waker;
}

function scrapeRoute({ pool, brands, websites, waker }: ScrapeParts): RouteDefinition {
  return defineIdempotentRoute({
    path: '/v1/my/brand/scrape',
    operationId: 'scrapeBrand',
    tag,
    summary: 'Fill the brand from a website',
    description:
      'Reads the page at a URL in the background: colors, fonts, logo, company name, description, postal address, ' +
      'social links, example copy and tone. Poll `GET /brand` until `scrape.status` is `completed` or `failed`. Fields ' +
      'that are empty, or that an earlier scrape filled, get the values found; `overwrite` also replaces values edited ' +
      'before the scrape began. A newer scrape replaces a running one. If the account has no brand yet, one is created. ' +
      'A brand may be scraped ten times an hour, and all brands of an account thirty times.',
    auth: 'account',
    testKeys: 'refused',
    assistants: { reachesOut: true },
    body: scrapeBody,
    responses: { 202: { description: 'The scrape has begun', schema: scrapeStarted } },
    // The host name in the URL is resolved.
    prepare: ({ body }) => requireWebsite(websites, body.url),
    ensureBrand: (tenant) => brands.ensure(tenant),
    async handler({ tenant: { accountId, brandId }, body }, trx, url) {
      const id = await startScrape(trx, { accountId, brandId }, { url, overwrite: body.overwrite });
      const afterCommit = () => waker.wake('outbox');
      return { status: 202, body: { status: 'scraping', url }, resourceId: id, afterCommit };
    },
    async load({ tenant }, id) {
      const found = await findScrape(pool, tenant, id);
      return found && { status: 'scraping', url: found.url };
    },
  });
}

/** `GET` and `PUT /v1/my/brand`, `POST /v1/my/brand/scrape`, and `GET` and `POST /v1/my/brands`. */
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
      summary: 'Get the current brand',
      description: 'Null if the account has no brand yet.',
      auth: 'account',
      testKeys: 'allowed',
      etag: 'shown',
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
        'An omitted field stays unchanged; null clears it. If the account has no brand yet, one is created.',
      auth: 'account',
      testKeys: 'refused',
      etag: 'checked',
      body: putBrandBody,
      readOnlyFields: brandReadOnlyFields,
      responses: { 200: { description: 'The brand', schema: brandSchema } },
      async handler({ tenant, body, ifMatch, publicUrl }) {
        return { status: 200, body: presentBrand(await brands.put(tenant, body, ifMatch), publicUrl) };
      },
    }),
    scrapeRoute({ pool, brands, websites, waker }),
    ...createBrandListRoutes({ pool, brands, presentBrand }),
  ];
}
