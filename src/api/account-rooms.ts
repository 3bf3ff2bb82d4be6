import { createAccountProfile } from '../accounts/profile.ts';
import { createAccountRoutes } from '../accounts/routes.ts';
import type { BrandRow } from '../brands/model.ts';
import { presentBrand } from '../brands/presenter.ts';
import { createBrandRoutes } from '../brands/routes.ts';
import { createBrandService } from '../brands/service.ts';
import { capacitySettings } from '../delivery/authority.ts';
import type { RouteDefinition } from '../http/route.ts';
import { createImageReferences, uploadUrl } from '../storage/image-reference.ts';
import { createSignedIds } from '../storage/signed-id.ts';
import type { ApiDeps } from './deps.ts';

/** The routes of account and brand, and what they share. */
export function createAccountRooms({ config, database, keyring }: ApiDeps): RouteDefinition[] {
  const { pool } = database;
  const images = createImageReferences(pool, createSignedIds(keyring));
  const brands = createBrandService({ pool, images });
  const present = (row: BrandRow, publicUrl: string) =>
    presentBrand(row, (accountId, reference) => {
      const signedId = images.show(accountId, reference);
      return signedId === null ? null : uploadUrl(publicUrl, signedId);
    });
  const mailDomain = config.MAIL_DOMAIN;
  const profile = createAccountProfile({ db: pool, images, mailDomain, capacity: capacitySettings(config) });
  return [
    ...createAccountRoutes({ profile, brands, images, presentBrand: present, mailDomain }),
    ...createBrandRoutes({ brands, presentBrand: present }),
  ];
}
