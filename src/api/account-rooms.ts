import { createAccountProfile } from '../accounts/profile.ts';
import { createAccountRoutes } from '../accounts/routes.ts';
import type { BrandRow } from '../brands/model.ts';
import { presentBrand } from '../brands/presenter.ts';
import { createBrandRoutes } from '../brands/routes.ts';
import { createBrandService } from '../brands/service.ts';
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
  const accountDefaults = {
    mailDomain: config.MAIL_DOMAIN,
    sandboxMonthlyCap: config.SANDBOX_MONTHLY_CAP,
    allowances: {
      free: config.ALLOWANCE_FREE,
      paid: config.ALLOWANCE_PAID,
      trusted: config.ALLOWANCE_TRUSTED,
    },
  };
  const profile = createAccountProfile({ db: pool, images, mailDomain: config.MAIL_DOMAIN });
  return [
    ...createAccountRoutes({ profile, brands, images, presentBrand: present, accountDefaults }),
    ...createBrandRoutes({ brands, presentBrand: present }),
  ];
}
