import { z } from 'zod';
import { isTestCaller } from '../../platform/auth/tenant.ts';
import type { Database } from '../../platform/db/database.ts';
import type { HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { pageOf } from '../../platform/db/paging.ts';
import { inTransaction } from '../../platform/db/queryable.ts';
import type { Waker } from '../../platform/db/wake.ts';
import { csvFile, wantsCsv } from '../../platform/http/csv-file.ts';
import { paginate } from '../../platform/http/pagination.ts';
import { defineRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { itemsCsv, listItems } from './items.ts';
import {
  audienceBody,
  itemSchema,
  listItemsQuery,
  listOperationsQuery,
  MAX_AUDIENCE_BYTES,
  operationParams,
  operationSchema,
  quoteSchema,
} from './schema.ts';
import {
  cancelOperation,
  getOperation,
  listOperations,
  quoteValidation,
  requireOperation,
  startValidation,
  type ValidationDeps,
} from './service.ts';

export interface ValidationRouteDeps {
  database: Database;
  heavyReads: HeavyReads;
  waker: Pick<Waker, 'wake'>;
}

interface Parts extends ValidationDeps {
  waker: Pick<Waker, 'wake'>;
}

const PATH = '/v1/my/validation_operations';
const tag = 'Validation';

const WHAT_IT_IS_NOT =
  'Validation happens only on request: it is never part of an import, of scheduling or of sending. It does not prove ' +
  'consent, and it does not raise what the account may send.';

function quoteRoute(parts: Parts): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: `${PATH}/quote`,
    operationId: 'quoteValidation',
    tag,
    summary: 'Ask what validating an audience would cost',
    description: `Counts the candidates and reserves nothing. ${WHAT_IT_IS_NOT}`,
    auth: 'brand',
    audit: 'none',
    testKeys: { only: 'contacts and channels named by id' },
    assistants: { sharedFields: ['wallet_balance_cents'] },
    idempotency: 'none',
    body: audienceBody,
    maxBodyBytes: MAX_AUDIENCE_BYTES,
    responses: { 200: { description: 'The quote, as of now.', schema: quoteSchema } },
    errors: ['forbidden'],
    handler: async ({ tenant, body }) => ({ status: 200, body: await quoteValidation(parts, tenant, body) }),
  });
}

function startRoute(parts: Parts): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: PATH,
    operationId: 'startValidation',
    tag,
    summary: 'Validate the email addresses of an audience',
    description:
      'Counts the candidates, fixes the price and reserves the maximum charge; then the addresses are checked in the ' +
      'background. Poll `GET /validation_operations/{id}`. Deliverable and undeliverable results are charged when the ' +
      'operation ends. Results that are risky or unknown, that follow from what the brand has sent, or that are ' +
      'reused, are free. The `Idempotency-Key` is kept as long as the operation: a repeat returns it, and checks the rest ' +
      `if it failed. Another audience with the same key is a 409. ${WHAT_IT_IS_NOT}`,
    auth: 'brand',
    testKeys: { only: 'contacts and channels named by id' },
    idempotency: 'own',
    // The domains of the contacts' addresses are looked up, and their servers asked.
    assistants: { asks: 'always', reachesOut: true },
    body: audienceBody,
    maxBodyBytes: MAX_AUDIENCE_BYTES,
    responses: { 201: { description: 'The operation.', schema: operationSchema } },
    errors: ['forbidden', 'conflict', 'idempotency_conflict', 'insufficient_funds', 'spend_cap_reached'],
    async handler({ tenant, body, idempotencyKey }) {
      const { operation, replayed } = await startValidation(parts, tenant, body, idempotencyKey);
      parts.waker.wake('outbox');
      return { status: 201, body: operation, replayed };
    },
  });
}

function listRoute({ pool }: Parts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listValidations',
    tag,
    summary: 'List validations, newest first',
    auth: 'brand',
    testKeys: { only: 'validations of test keys' },
    query: listOperationsQuery,
    paginated: true,
    responses: { 200: { description: 'A page of operations.', schema: z.array(operationSchema) } },
    async handler(input) {
      const page = pageOf(input.query);
      const { operations, count } = await listOperations(pool, input.tenant, input.query.status, page);
      return paginate(input, page, operations, count);
    },
  });
}

function getRoute({ pool }: Parts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id`,
    operationId: 'getValidation',
    tag,
    summary: 'Get a validation and its progress',
    auth: 'brand',
    testKeys: { only: 'validations of test keys' },
    params: operationParams,
    responses: { 200: { description: 'The operation.', schema: operationSchema } },
    handler: async ({ tenant, params }) => ({
      status: 200,
      body: await getOperation(pool, tenant, params.id),
    }),
  });
}

function cancelRoute({ pool, waker }: Parts): RouteDefinition {
  return defineRoute({
    method: 'POST',
    path: `${PATH}/:id/cancel`,
    operationId: 'cancelValidation',
    tag,
    summary: 'Cancel a validation that has not ended',
    description: 'Results found so far are kept and charged. The rest of the reservation is released.',
    auth: 'brand',
    testKeys: { only: 'validations of test keys' },
    idempotency: 'none',
    params: operationParams,
    responses: { 200: { description: 'The canceled operation.', schema: operationSchema } },
    errors: ['invalid_transition'],
    async handler({ tenant, params }) {
      const body = await inTransaction(pool, (trx) => cancelOperation(trx, tenant, params.id));
      waker.wake('outbox');
      return { status: 200, body };
    },
  });
}

function itemsRoute({ pool }: Parts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id/items`,
    operationId: 'listValidationItems',
    tag,
    summary: 'List the results of a validation, newest first',
    description:
      'Kept for 90 days after the operation has ended. As CSV, all matching results are one file, oldest first.',
    auth: 'brand',
    testKeys: { only: 'validations of test keys; the items have no addresses' },
    params: operationParams,
    query: listItemsQuery,
    paginated: true,
    responses: {
      200: {
        description: 'A page of results; as CSV all of them.',
        schema: z.array(itemSchema),
        otherContentType: 'text/csv',
      },
    },
    async handler(input) {
      const operation = await requireOperation(pool, input.tenant, input.params.id);
      const { id } = operation;
      const { format, verdict } = input.query;
      const selected = { verdict, hidesAddresses: isTestCaller(input.tenant.actor) };
      if (wantsCsv(input.ctx, format)) return csvFile(`validation-${id}`, itemsCsv(pool, id, selected));
      const page = pageOf(input.query);
      const { items, count } = await listItems(pool, id, selected, page);
      return paginate(input, page, items, count);
    },
  });
}

/** `/v1/my/validation_operations`: quote, start, list, one, its cancellation and its items. */
export function createValidationRoutes({
  database,
  heavyReads,
  waker,
}: ValidationRouteDeps): RouteDefinition[] {
  const parts: Parts = { pool: database.pool, heavyReads, waker };
  return [quoteRoute, startRoute, listRoute, getRoute, cancelRoute, itemsRoute].map((create) =>
    create(parts),
  );
}
