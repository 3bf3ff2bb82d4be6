import type pg from 'pg';
import { z } from 'zod';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { csvFile, wantsCsv } from '../../platform/http/csv-file.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { createList, lockLists } from '../lists/service.ts';
import { invalid, Problems } from '../../errors.ts';
import { findListFill, findListFills, startListFill } from './list-fills.ts';
import type { CampaignRow } from './model.ts';
import { listRecipients, recipientsCsv } from './recipients.ts';
import { reportCampaign, reportSchema } from './report.ts';
import { campaignParams, resentSchema } from './schema.ts';
import {
  fillSchema,
  listFillsQuery,
  listRecipientsQuery,
  recipientSchema,
  type ToListBody,
  toListBody,
} from './recipients-schema.ts';
import { requireCampaign, resendUnknown } from './service.ts';

export interface RecipientRouteDeps {
  pool: pg.Pool;
  heavyReads: HeavyReads;
  /** Call it after the commit of a change; it wakes the loops that act on the campaign. */
  wake: (row: CampaignRow) => void;
}

const PATH = '/v1/my/campaigns/:id';
const tag = 'Campaigns';

function recipientsRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/recipients`,
    operationId: 'listCampaignRecipients',
    tag,
    summary: 'List the recipients of a campaign, newest first',
    description:
      'Available while it is sent and after it was canceled, too. With filters, a page examines 20,000 recipients: it ' +
      'may have fewer than `limit` items, or none, and the `next` link of the `Link` header continues. As CSV, ' +
      'all matching recipients are returned in one file, oldest first.',
    auth: 'brand',
    testKeys: 'refused',
    params: campaignParams,
    query: listRecipientsQuery,
    paginated: true,
    responses: {
      200: {
        description: 'A page of recipients, or all of them as CSV.',
        schema: z.array(recipientSchema),
        otherContentType: 'text/csv',
      },
    },
    async handler(input) {
      const { page: _page, limit: _limit, after: _after, format, ...filters } = input.query;
      const row = await requireCampaign(pool, input.tenant, input.params.id);
      if (wantsCsv(input.ctx, format))
        return csvFile(`campaign-${row.id}-recipients`, recipientsCsv(pool, row, filters));
      const page = pageOf(input.query);
      const { recipients, count } = await listRecipients(pool, row, filters, page);
      return paginate(input, page, recipients, count);
    },
  });
}

/** @throws AppError validation_error */
function requireOneList({ list_id: listId, name, opened, not_opened: notOpened }: ToListBody): void {
  const problems = new Problems();
  if ((listId === undefined) === (name === undefined)) {
    problems.add({ list_id: ['or `name` is required, but not both'] });
  }
  if (opened === true && notOpened === true) problems.add({ not_opened: ['contradicts `opened`'] });
  problems.throwIfAny();
}

function toListRoute(pool: pg.Pool): RouteDefinition {
  return defineIdempotentRoute({
    path: `${PATH}/recipients/to_list`,
    operationId: 'addCampaignRecipientsToList',
    tag,
    summary: 'Add recipients of a campaign to a list',
    description:
      'Adds the contacts in the background, in the order of the recipients; ' +
      '`GET /campaigns/{id}/recipients/to_list` shows the progress. Recipients that are written later are not added.',
    auth: 'brand',
    testKeys: 'refused',
    params: campaignParams,
    body: toListBody,
    responses: { 201: { description: 'The list fill, which has begun.', schema: fillSchema } },
    async handler({ tenant, params, body }, trx) {
      const { list_id: given, name, not_opened: notOpened, ...filters } = body;
      const row = await requireCampaign(trx, tenant, params.id);
      requireOneList(body);
      if (given !== undefined && !(await lockLists(trx, tenant.brandId, [given])).has(given)) {
        throw invalid({ list_id: ['is not a list of the brand'] });
      }
      const listId = given ?? (await createList(trx, tenant, { name: name ?? row.name, visible: false })).id;
      const wanted = notOpened === true ? { ...filters, opened: false } : filters;
      const fill = await startListFill(trx, row, listId, wanted);
      return { status: 201, body: fill, resourceId: fill.id };
    },
    load: ({ tenant }, id) => findListFill(pool, tenant, id),
  });
}

function fillsRoute(pool: pg.Pool): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/recipients/to_list`,
    operationId: 'listCampaignListFills',
    tag,
    summary: 'List the list fills of a campaign, newest first',
    auth: 'brand',
    testKeys: 'refused',
    params: campaignParams,
    query: listFillsQuery,
    paginated: true,
    responses: { 200: { description: 'The list fills with their progress.', schema: z.array(fillSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const row = await requireCampaign(pool, input.tenant, input.params.id);
      const { fills, count } = await findListFills(pool, row.id, page);
      return paginate(input, page, fills, count);
    },
  });
}

function reportRoute({ pool, heavyReads }: RecipientRouteDeps): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/report`,
    operationId: 'getCampaignReport',
    tag,
    summary: 'Get the report of a campaign',
    description: 'Counts, rates, opens and clicks over time, links, and the domains of the recipients.',
    auth: 'brand',
    testKeys: 'refused',
    params: campaignParams,
    responses: { 200: { description: 'The report, as of now.', schema: reportSchema } },
    errors: ['unavailable'],
    async handler({ tenant, params }) {
      const row = await requireCampaign(pool, tenant, params.id);
      return { status: 200, body: await reportCampaign(heavyReads, row) };
    },
  });
}

function resendRoute({ wake }: RecipientRouteDeps): RouteDefinition {
  const present = (count: number) => ({ requeued_count: count });
  return defineIdempotentRoute({
    path: `${PATH}/resend_unknown`,
    operationId: 'resendUnknownRecipients',
    tag,
    summary: 'Resend messages that may have been lost',
    description:
      'Recipients are `unknown` if a process died while it handed over their messages, so some may get the message ' +
      'twice. The campaign stays completed, without another event. One request queues at most ' +
      '20,000 of them; the next one continues. No recipient is queued twice.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    assistants: { sends: 'always' },
    params: campaignParams,
    responses: {
      200: { description: 'The number of recipients that are sent to again.', schema: resentSchema },
    },
    errors: ['forbidden', 'invalid_transition'],
    async handler({ tenant, params }, trx) {
      const { row, requeued } = await resendUnknown(trx, tenant, params.id);
      const body = present(requeued);
      // The request creates no resource: its idempotency key stores the count, which a replay returns.
      return { status: 200, body, resourceId: requeued, afterCommit: () => wake(row) };
    },
    load: (_input, count) => Promise.resolve(present(count)),
  });
}

/** The routes of recipients: listing, list fills, the report, and resending. */
export function createRecipientRoutes(deps: RecipientRouteDeps): RouteDefinition[] {
  const { pool } = deps;
  return [recipientsRoute(pool), toListRoute(pool), fillsRoute(pool), reportRoute(deps), resendRoute(deps)];
}
