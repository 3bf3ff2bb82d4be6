import type { Config } from '../../config.ts';
import { limitSettings } from '../../delivery/ledger/limits/authority.ts';
import type { AccountTenant } from '../../platform/auth/tenant.ts';
import type { Database } from '../../platform/db/database.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createSignedIds } from '../../platform/secrets/signed-id.ts';
import { createBrandPresenter, createBrandService } from '../brands/service.ts';
import { submissionAccessOf } from '../submission/schema.ts';
import { createImageReferences } from '../uploads/service.ts';
import type { AccountFigures } from './model.ts';
import { presentAccount } from './presenter.ts';
import { accountReadOnlyFields, accountSchema, patchAccountBody, type AccountView } from './schema.ts';
import { createAccountProfile } from './service.ts';

export interface AccountRouteDeps {
  config: Config;
  database: Database;
  keyring: Keyring;
}

const tag = 'Account';

/** Whether a change concerns what every message of the account is sent with, such as where replies go. */
const changesSender = (changes: object) => Object.keys(changes).some((name) => name.startsWith('email_'));

/** `GET` and `PATCH /v1/my/account`. */
export function createAccountRoutes({ config, database, keyring }: AccountRouteDeps): RouteDefinition[] {
  const { pool } = database;
  const mailDomain = config.MAIL_DOMAIN;
  const submission = submissionAccessOf(config);
  const images = createImageReferences(pool, createSignedIds(keyring));
  const brands = createBrandService({ pool, images });
  const presentBrand = createBrandPresenter(images);
  const profile = createAccountProfile({ db: pool, images, mailDomain, limits: limitSettings(config) });

  async function present(
    figures: AccountFigures,
    tenant: AccountTenant,
    publicUrl: string,
  ): Promise<AccountView> {
    const brand = await brands.find(tenant);
    const parts = {
      figures,
      submission,
      brand: brand && presentBrand(brand, publicUrl),
      showImage: (reference: string | null) => images.show(figures.id, reference),
    };
    return presentAccount(parts, mailDomain);
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/v1/my/account',
      operationId: 'getAccount',
      tag,
      summary: 'Show the account, its limits and its usage',
      auth: 'account',
      testKeys: 'allowed',
      assistants: { sharedFields: ['billing'] },
      responses: { 200: { description: 'The account', schema: accountSchema } },
      async handler({ tenant, publicUrl }) {
        return { status: 200, body: await present(await profile.find(tenant), tenant, publicUrl) };
      },
    }),
    defineRoute({
      method: 'PATCH',
      path: '/v1/my/account',
      operationId: 'patchAccount',
      tag,
      summary: 'Change the account',
      description:
        'An omitted field stays unchanged; null clears it. `email_from_email` must be a verified sender identity: an ' +
        'address at a verified domain of the current brand, the sandbox address, or the built-in inbox of the brand.',
      auth: 'account',
      testKeys: 'refused',
      assistants: { sends: changesSender, allBrands: 'always' },
      body: patchAccountBody,
      readOnlyFields: accountReadOnlyFields,
      responses: { 200: { description: 'The account', schema: accountSchema } },
      errors: ['sender_not_verified'],
      async handler({ tenant, body, publicUrl }) {
        const figures = await profile.change(tenant, body);
        return { status: 200, body: await present(figures, tenant, publicUrl) };
      },
    }),
  ];
}
