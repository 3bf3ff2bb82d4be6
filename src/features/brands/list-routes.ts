import type pg from 'pg';
import { z } from 'zod';
import { pageOf } from '../../platform/db/paging.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { addBrand, getBrand, listBrands } from './list.ts';
import type { ShownBrand } from './presenter.ts';
import { type Brand, brandReadOnlyFields, brandSchema, createBrandBody, listBrandsQuery } from './schema.ts';
import type { BrandService } from './service.ts';

export interface BrandListRouteDeps {
  pool: pg.Pool;
  brands: BrandService;
  presentBrand: (brand: ShownBrand, publicUrl: string) => Brand;
}

const path = '/v1/my/brands';
const tag = 'Brand';

/** `GET` and `POST /v1/my/brands`. */
export function createBrandListRoutes({ pool, brands, presentBrand }: BrandListRouteDeps): RouteDefinition[] {
  return [
    defineRoute({
      method: 'GET',
      path,
      operationId: 'listBrands',
      tag,
      summary: 'List the brands of the account, newest first',
      auth: 'account',
      testKeys: 'refused',
      usersOnly: true,
      query: listBrandsQuery,
      paginated: true,
      responses: { 200: { description: 'A page of brands', schema: z.array(brandSchema) } },
      async handler(input) {
        const page = pageOf(input.query);
        const { brands: found, count } = await listBrands(pool, input.tenant, page);
        const shown = found.map((brand) => presentBrand(brand, input.publicUrl));
        return paginate(input, page, shown, count);
      },
    }),
    defineIdempotentRoute({
      path,
      operationId: 'createBrand',
      tag,
      summary: 'Create another brand of the account',
      description:
        'The first brand is created by `PUT /brand`. `X-Brand-Id` makes a brand the current one, which `PUT /brand` ' +
        'changes. An account has at most 100 brands.',
      auth: 'brand',
      testKeys: 'refused',
      usersOnly: true,
      roles: ['owner', 'admin'],
      body: createBrandBody,
      readOnlyFields: brandReadOnlyFields,
      responses: { 201: { description: 'The brand', schema: brandSchema } },
      prepare: ({ tenant, body }) => brands.changesOf(tenant, body),
      async handler({ tenant, publicUrl }, trx, changes) {
        const brand = await addBrand(trx, tenant, changes);
        return { status: 201, body: presentBrand(brand, publicUrl), resourceId: brand.row.id };
      },
      load: async ({ tenant, publicUrl }, id) => presentBrand(await getBrand(pool, tenant, id), publicUrl),
    }),
  ];
}
