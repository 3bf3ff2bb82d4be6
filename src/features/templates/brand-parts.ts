import type pg from 'pg';
import { BRAND_FIELDS } from '../../delivery/content/templates/names.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createSignedIds } from '../../platform/secrets/signed-id.ts';
import type { Brand } from '../brands/schema.ts';
import { createBrandReader } from '../brands/service.ts';
import { createImageReferences } from '../uploads/service.ts';

/** Reads the values of a brand that contents use. */
export type BrandOf = (scope: BrandScope) => Promise<Brand>;

/** @param publicUrl the setting PUBLIC_URL; null: uploaded logos have no URL */
export function createBrandOf(pool: pg.Pool, keyring: Keyring, publicUrl: string | null): BrandOf {
  const read = createBrandReader(pool, createImageReferences(pool, createSignedIds(keyring)));
  return async (scope) => {
    const brand = await read(scope, publicUrl ?? '');
    const isRelative = publicUrl === null && brand.logo?.startsWith('/') === true;
    return isRelative ? { ...brand, logo: null } : brand;
  };
}

/** The value of `brand` in contents. */
export function brandValues(brand: Brand): Record<string, unknown> {
  return Object.fromEntries(BRAND_FIELDS.map((name) => [name, brand[name]]));
}
