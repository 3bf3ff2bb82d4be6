import type { Database } from '../../platform/db/database.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createSignedIds } from '../../platform/secrets/signed-id.ts';
import { createImageReferences } from '../uploads/service.ts';
import { brandReadOnlyFields, brandSchema, putBrandBody } from './schema.ts';
import { createBrandPresenter, createBrandService } from './service.ts';

export interface BrandRouteDeps {
  database: Database;
  keyring: Keyring;
}

const tag = 'Brand';

/** `GET` and `PUT /v1/my/brand`. */
export function createBrandRoutes({ database: { pool }, keyring }: BrandRouteDeps): RouteDefinition[] {
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
      body: putBrandBody,
      readOnlyFields: brandReadOnlyFields,
      responses: { 200: { description: 'The brand', schema: brandSchema } },
      async handler({ tenant, body, publicUrl }) {
        return { status: 200, body: presentBrand(await brands.put(tenant, body), publicUrl) };
      },
    }),
  ];
}
