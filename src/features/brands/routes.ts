import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { BrandRow } from './model.ts';
import { brandReadOnlyFields, brandSchema, putBrandBody, type Brand } from './schema.ts';
import type { BrandService } from './service.ts';

/** `present` gives a brand's row its public form; the logo's address depends on where the service is reached. */
export interface BrandRouteDeps {
  brands: BrandService;
  presentBrand: (row: BrandRow, publicUrl: string) => Brand;
}

const tag = 'Brand';

/** GET and PUT /v1/my/brand. */
export function createBrandRoutes({ brands, presentBrand }: BrandRouteDeps): RouteDefinition[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/my/brand',
      operationId: 'getBrand',
      tag,
      summary: 'The current brand',
      description: 'Null where the account has no brand yet.',
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
        'A field left out stays as it is, null empties it. Where the account has no brand yet, one is made.',
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
