import { z } from 'zod';
import type { Config } from '../../config.ts';
import type { ContentEngine } from '../../delivery/content/templates/content.ts';
import { limitSettings } from '../../delivery/ledger/limits/authority.ts';
import type { ErrorCode } from '../../errors.ts';
import type { Database } from '../../platform/db/database.ts';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { inPreparedTransaction, inTransaction } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { listedStatus, requireDraftOfTestKey } from '../../platform/auth/test-keys.ts';
import type { LargeLists } from '../../platform/http/large-lists.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import type { Keyring } from '../../platform/secrets/keyring.ts';
import { createBrandOf } from '../templates/service.ts';
import { createCheckRoute } from './check-routes.ts';
import type { CheckDeps, Prepared } from './checks.ts';
import { presentCampaign } from './presenter.ts';
import { campaignResult, type Shared, wake } from './requests.ts';
import { createRecipientRoutes } from './recipients-routes.ts';
import {
  campaignParams,
  campaignReadOnlyFields as readOnlyFields,
  campaignSchema,
  campaignSummary,
  changeCampaignBody,
  createCampaignBody,
  duplicateCampaignBody,
  listCampaignsQuery,
  sendCampaignBody,
} from './schema.ts';
import { campaignTwins as twins } from './twins.ts';
import {
  cancel,
  changeCampaign,
  createCampaign,
  deleteCampaign,
  duplicateCampaign,
  findListed,
  getCampaign,
  prepareRequest,
  presentPage,
  requireCampaign,
  send,
} from './service.ts';

export interface CampaignRouteDeps {
  config: Config;
  database: Database;
  heavyReads: HeavyReads;
  keyring: Keyring;
  waker: Waker;
  contents: ContentEngine;
  largeLists: LargeLists;
}

const PATH = '/v1/my/campaigns';
const tag = 'Campaigns';

const sendErrors: ErrorCode[] = [
  'forbidden',
  'invalid_transition',
  'sender_not_verified',
  'sandbox_limit_reached',
  'unavailable',
];

const SEND_CHECKS =
  'Everything is checked first, and all problems are returned at once: the audience, the sender, the content with ' +
  'its Liquid, the postal address of the brand, the options, and the monthly cap of a sandbox.';

function sharedOf({ config, database, heavyReads, keyring, waker, contents }: CampaignRouteDeps): Shared {
  const { pool } = database;
  const publicUrl = config.PUBLIC_URL ?? null;
  const deps: CheckDeps = {
    pool,
    heavyReads,
    templates: { pool, contents, brandOf: createBrandOf(pool, keyring, publicUrl) },
    sender: {
      mailDomain: config.MAIL_DOMAIN,
      tracking: { publicUrl, keyId: keyring.subkey('tracking').id },
    },
    limits: limitSettings(config),
    approvalTiers: config.APPROVAL_TIERS,
  };
  return { pool, waker, deps };
}

function listRoute({ pool, deps }: Shared, largeLists: LargeLists): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listCampaigns',
    tag,
    summary: 'List campaigns, newest first',
    auth: 'brand',
    testKeys: { only: 'drafts' },
    query: listCampaignsQuery,
    paginated: true,
    responses: {
      200: {
        description: 'A page of campaigns. While a campaign is sent, its counts may be seconds old.',
        schema: z.array(campaignSummary),
      },
    },
    async handler(input) {
      const page = pageOf(input.query);
      const { tenant, query } = input;
      const status = listedStatus(tenant, query.status, 'campaigns');
      const { items, count } = await findListed(pool, tenant, { ...query, status }, page);
      return largeLists.reply(input, page, items, count, (ids) =>
        presentPage(pool, deps, tenant, ids, query.summary ?? false),
      );
    },
  });
}

function createRoute(shared: Shared): RouteDefinition {
  const { pool, deps } = shared;
  return defineIdempotentRoute({
    path: PATH,
    operationId: 'createCampaign',
    tag,
    summary: 'Create a campaign',
    description: `Creates a draft. With \`status: active\` it is sent at once. ${SEND_CHECKS}`,
    auth: 'brand',
    testKeys: { only: 'drafts' },
    assistants: { sends: ({ status }) => status === 'active' },
    etag: 'shown',
    body: createCampaignBody,
    readOnlyFields,
    twins,
    responses: { 201: { description: 'The campaign.', schema: campaignSchema } },
    errors: sendErrors,
    prepare: ({ tenant, body }) => prepareRequest(deps, tenant, null, body),
    handler: async ({ tenant, body }, trx, prepared) =>
      campaignResult(shared, trx, await createCampaign(trx, deps, tenant, body, prepared), 201),
    load: ({ tenant }, id) => getCampaign(pool, deps, tenant, id),
  });
}

function getRoute({ pool, deps }: Shared): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id`,
    operationId: 'getCampaign',
    tag,
    summary: 'Get a campaign with its progress',
    auth: 'brand',
    testKeys: { only: 'drafts' },
    etag: 'shown',
    params: campaignParams,
    responses: { 200: { description: 'The campaign.', schema: campaignSchema } },
    async handler({ tenant, params }) {
      const campaign = await getCampaign(pool, deps, tenant, params.id);
      requireDraftOfTestKey(tenant, campaign.status, 'campaigns');
      return { status: 200, body: campaign };
    },
  });
}

function changeRoute({ pool, waker, deps }: Shared): RouteDefinition {
  return defineRoute({
    method: 'PATCH',
    path: `${PATH}/:id`,
    operationId: 'changeCampaign',
    tag,
    summary: 'Change, schedule, send, pause or resume a campaign',
    description:
      '`status: active` sends a draft and resumes a paused campaign, `status: paused` pauses it. `scheduled_at` alone ' +
      'schedules nothing. Content can be changed in a draft, and in a paused campaign for the remaining recipients. ' +
      SEND_CHECKS,
    auth: 'brand',
    testKeys: { only: 'drafts, which stay drafts' },
    assistants: { sends: 'unless draft' },
    etag: 'checked',
    params: campaignParams,
    body: changeCampaignBody,
    readOnlyFields,
    twins,
    responses: { 200: { description: 'The changed campaign.', schema: campaignSchema } },
    errors: [...sendErrors, 'conflict'],
    async handler({ tenant, params, body, copied, ifMatch }) {
      const before = await requireCampaign(pool, tenant, params.id);
      const prepared = await prepareRequest(deps, tenant, before, body);
      const { row, shown } = await inPreparedTransaction(pool, async (trx) => {
        const changed = await changeCampaign(trx, deps, tenant, params.id, {
          body,
          copied,
          prepared,
          ifMatch,
        });
        return { row: changed, shown: await presentCampaign(trx, changed, deps.limits) };
      });
      wake(waker, row);
      return { status: 200, body: shown };
    },
  });
}

function deleteRoute({ pool, deps }: Shared): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${PATH}/:id`,
    operationId: 'deleteCampaign',
    tag,
    summary: 'Delete a draft',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    etag: 'checked',
    params: campaignParams,
    responses: { 200: { description: 'The deleted campaign.', schema: campaignSchema } },
    errors: ['invalid_transition'],
    handler: async ({ tenant, params, ifMatch }) => ({
      status: 200,
      body: await inTransaction(pool, (trx) => deleteCampaign(trx, deps, tenant, params.id, ifMatch)),
    }),
  });
}

function sendRoute(shared: Shared): RouteDefinition {
  const { pool, deps } = shared;
  return defineIdempotentRoute({
    path: `${PATH}/:id/send`,
    operationId: 'sendCampaign',
    tag,
    summary: 'Send a campaign',
    description:
      'Sends a draft: at `scheduled_at` if that is in the future, otherwise now. A campaign that waits for its time is ' +
      `sent now. ${SEND_CHECKS}`,
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    assistants: { sends: 'always' },
    etag: 'checked',
    params: campaignParams,
    body: sendCampaignBody,
    bodyOptional: true,
    responses: { 200: { description: 'The active campaign.', schema: campaignSchema } },
    errors: [...sendErrors, 'conflict'],
    async prepare({ tenant, params, body }) {
      const before = await requireCampaign(pool, tenant, params.id);
      const prepared = await prepareRequest(deps, tenant, before, { ...body, status: 'active' });
      return { before, prepared: prepared as Prepared };
    },
    handler: async ({ tenant, body, ifMatch }, trx, { before, prepared }) =>
      campaignResult(shared, trx, await send(trx, deps, tenant, before, { body, prepared, ifMatch })),
    load: ({ tenant }, id) => getCampaign(pool, deps, tenant, id),
  });
}

function cancelRoute(shared: Shared): RouteDefinition {
  const { pool, deps } = shared;
  return defineIdempotentRoute({
    path: `${PATH}/:id/cancel`,
    operationId: 'cancelCampaign',
    tag,
    summary: 'Cancel a campaign',
    description:
      'A campaign that still waits for its time becomes a draft again. Otherwise it is completed with the outcome ' +
      '`canceled`, and the remaining recipients do not get it.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    assistants: { asks: 'always' },
    etag: 'checked',
    params: campaignParams,
    responses: { 200: { description: 'The campaign.', schema: campaignSchema } },
    errors: ['invalid_transition'],
    handler: async ({ tenant, params, ifMatch }, trx) =>
      campaignResult(shared, trx, await cancel(trx, tenant, params.id, ifMatch)),
    load: ({ tenant }, id) => getCampaign(pool, deps, tenant, id),
  });
}

function duplicateRoute(shared: Shared): RouteDefinition {
  const { pool, deps } = shared;
  return defineIdempotentRoute({
    path: `${PATH}/:id/duplicate`,
    operationId: 'duplicateCampaign',
    tag,
    summary: 'Copy a campaign as a draft',
    description: 'The copy has no `scheduled_at`.',
    auth: 'brand',
    testKeys: 'refused',
    etag: 'shown',
    params: campaignParams,
    body: duplicateCampaignBody,
    bodyOptional: true,
    responses: { 201: { description: 'The copy.', schema: campaignSchema } },
    errors: ['forbidden', 'invalid_transition'],
    handler: async ({ tenant, params, body }, trx) =>
      campaignResult(shared, trx, await duplicateCampaign(trx, tenant, params.id, body), 201),
    load: ({ tenant }, id) => getCampaign(pool, deps, tenant, id),
  });
}

/** `/v1/my/campaigns`: campaigns, the actions on them, their recipients and reports. */
export function createCampaignRoutes(given: CampaignRouteDeps): RouteDefinition[] {
  const shared = sharedOf(given);
  const { pool, waker } = shared;
  return [
    listRoute(shared, given.largeLists),
    createRoute(shared),
    getRoute(shared),
    changeRoute(shared),
    deleteRoute(shared),
    createCheckRoute(shared),
    sendRoute(shared),
    cancelRoute(shared),
    duplicateRoute(shared),
    ...createRecipientRoutes({ pool, heavyReads: given.heavyReads, wake: (row) => wake(waker, row) }),
  ];
}
