import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { checkCampaign } from './check-unsaved.ts';
import type { Shared } from './requests.ts';
import { campaignCheck, campaignParams, campaignReadOnlyFields, checkCampaignBody } from './schema.ts';

import { campaignTwins } from './twins.ts';

/** `POST /v1/my/campaigns/{id}/check`, for editors. */
export function createCheckRoute({ deps }: Shared): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: '/v1/my/campaigns/:id/check',
    operationId: 'checkCampaign',
    tag: 'Campaigns',
    summary: 'Check a campaign before it is sent',
    description:
      'Lists everything for which a send would refuse the campaign with the changes in the request, which are those of a ' +
      'PATCH. Nothing is stored or sent.',
    auth: 'brand',
    audit: 'none',
    testKeys: 'refused',
    idempotency: 'none',
    params: campaignParams,
    body: checkCampaignBody,
    bodyOptional: true,
    readOnlyFields: campaignReadOnlyFields,
    twins: campaignTwins,
    responses: { 200: { description: 'The problems; none if it can be sent.', schema: campaignCheck } },
    errors: ['forbidden', 'invalid_transition', 'unavailable'],
    handler: async ({ tenant, params, body, copied }) => ({
      status: 200,
      body: await checkCampaign(deps, tenant, params.id, body, copied),
    }),
  });
}
