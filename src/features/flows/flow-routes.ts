import type pg from 'pg';
import { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { listedStatus, requireDraftOfTestKey } from '../../platform/auth/test-keys.ts';
import type { CreatedResult } from '../../platform/db/idempotency.ts';
import { pageOf, wholeList } from '../../platform/db/paging.ts';
import { inPreparedTransaction, inTransaction } from '../../platform/db/queryable.ts';
import type { IfMatch } from '../../platform/db/revisions.ts';
import type { LargeLists } from '../../platform/http/large-lists.ts';
import {
  type AssistantRules,
  defineIdempotentRoute,
  defineRoute,
  type RouteDefinition,
} from '../../platform/http/route.ts';
import type { CheckDeps } from './checks.ts';
import {
  activate,
  archive,
  changeFlow,
  createFlow,
  duplicateFlow,
  findListed,
  getFlow,
  needsPreparation,
  pause,
  prepareRequest,
  presentPage,
  requireFlow,
  resume,
} from './manage.ts';
import type { FlowRow } from './model.ts';
import { presentFlow } from './presenter.ts';
import {
  activateFlowBody,
  changeFlowBody,
  createFlowBody,
  duplicateFlowBody,
  flowParams,
  flowReadOnlyFields as readOnlyFields,
  flowTwins as twins,
  flowSchema,
  flowSummary,
  listFlowsQuery,
  resumeFlowBody,
} from './schema.ts';

export interface FlowRouteParts {
  pool: pg.Pool;
  deps: CheckDeps;
  largeLists: LargeLists;
  /** Call it after the commit of a change; it wakes the loops that act on the change. */
  wake(): void;
}

const PATH = '/v1/my/flows';
const tag = 'Flows';

const activationErrors: ErrorCode[] = [
  'forbidden',
  'invalid_transition',
  'sender_not_verified',
  'conflict',
  'unavailable',
];

const CHECKS =
  'Everything is checked first, and all problems are returned at once: the trigger, the steps and what they name, ' +
  'the contents with their Liquid, the senders, and the postal address of the brand.';

/** The result of a POST on a flow. */
async function flowResult(
  { wake }: FlowRouteParts,
  trx: pg.PoolClient,
  row: FlowRow,
  status = 200,
): Promise<CreatedResult> {
  return { status, body: await presentFlow(trx, row), resourceId: row.id, afterCommit: wake };
}

function listRoute({ pool, largeLists }: FlowRouteParts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: PATH,
    operationId: 'listFlows',
    tag,
    summary: 'List flows, newest first',
    description: 'Archived flows are listed with `status=archived` only.',
    auth: 'brand',
    testKeys: { only: 'drafts' },
    query: listFlowsQuery,
    paginated: true,
    responses: { 200: { description: 'The flows of the brand.', schema: z.array(flowSummary) } },
    async handler(input) {
      const page = pageOf(input.query, wholeList);
      const { tenant, query } = input;
      const status = listedStatus(tenant, query.status, 'flows');
      const { items, count } = await findListed(pool, tenant, { ...query, status }, page);
      return largeLists.reply(input, page, items, count, (ids) =>
        presentPage(pool, tenant, ids, query.summary ?? false),
      );
    },
  });
}

function createRoute(parts: FlowRouteParts): RouteDefinition {
  const { pool, deps } = parts;
  return defineIdempotentRoute({
    path: PATH,
    operationId: 'createFlow',
    tag,
    summary: 'Create a flow',
    description: `Creates a draft. With \`status: active\` it is activated at once. ${CHECKS}`,
    auth: 'brand',
    testKeys: { only: 'drafts' },
    assistants: { sends: ({ status }) => status === 'active' },
    etag: 'shown',
    body: createFlowBody,
    readOnlyFields,
    twins,
    responses: { 201: { description: 'The flow.', schema: flowSchema } },
    errors: activationErrors,
    prepare: async ({ tenant, body }) => (needsPreparation(null, body) ? prepareRequest(deps, tenant) : null),
    handler: async ({ tenant, body }, trx, prepared) =>
      flowResult(parts, trx, await createFlow(trx, deps, tenant, body, prepared), 201),
    load: ({ tenant }, id) => getFlow(pool, tenant, id),
  });
}

function getRoute({ pool }: FlowRouteParts): RouteDefinition {
  return defineRoute({
    method: 'GET',
    path: `${PATH}/:id`,
    operationId: 'getFlow',
    tag,
    summary: 'Get a flow with its steps and their contents',
    auth: 'brand',
    testKeys: { only: 'drafts' },
    etag: 'shown',
    params: flowParams,
    responses: { 200: { description: 'The flow.', schema: flowSchema } },
    async handler({ tenant, params }) {
      const flow = await getFlow(pool, tenant, params.id);
      requireDraftOfTestKey(tenant, flow.status, 'flows');
      return { status: 200, body: flow };
    },
  });
}

function changeRoute(parts: FlowRouteParts): RouteDefinition {
  const { pool, deps } = parts;
  return defineRoute({
    method: 'PATCH',
    path: `${PATH}/:id`,
    operationId: 'changeFlow',
    tag,
    summary: 'Change, activate, pause, resume or archive a flow',
    description:
      'A draft can be changed freely. Changed steps of an active or paused flow apply to contacts who enter later, ' +
      'unless `apply_to` is `waiting`; changed contents also reach runs that have not reached their step yet. Steps that ' +
      `keep their \`id\` remain the same steps. ${CHECKS}`,
    auth: 'brand',
    testKeys: { only: 'drafts, which stay drafts' },
    assistants: { sends: 'unless draft' },
    etag: 'checked',
    params: flowParams,
    body: changeFlowBody,
    readOnlyFields,
    twins,
    responses: { 200: { description: 'The changed flow.', schema: flowSchema } },
    errors: activationErrors,
    async handler({ tenant, params, body, copied, ifMatch }) {
      const before = await requireFlow(pool, tenant, params.id);
      const prepared = needsPreparation(before, body) ? await prepareRequest(deps, tenant) : null;
      const shown = await inPreparedTransaction(pool, async (trx) =>
        presentFlow(trx, await changeFlow(trx, deps, tenant, params.id, { body, copied, prepared, ifMatch })),
      );
      parts.wake();
      return { status: 200, body: shown };
    },
  });
}

function archiveRoute(parts: FlowRouteParts): RouteDefinition {
  return defineRoute({
    method: 'DELETE',
    path: `${PATH}/:id`,
    operationId: 'archiveFlow',
    tag,
    summary: 'Archive a flow',
    description:
      'Contacts no longer enter, and runs end as canceled in the background. An archived flow can be read, but never ' +
      'activated again.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    etag: 'checked',
    params: flowParams,
    responses: { 200: { description: 'The archived flow.', schema: flowSchema } },
    async handler({ tenant, params, ifMatch }) {
      const shown = await inTransaction(parts.pool, async (trx) =>
        presentFlow(trx, await archive(trx, tenant, params.id, ifMatch)),
      );
      parts.wake();
      return { status: 200, body: shown };
    },
  });
}

function activateRoute(parts: FlowRouteParts): RouteDefinition {
  const { pool, deps } = parts;
  return defineIdempotentRoute({
    path: `${PATH}/:id/activate`,
    operationId: 'activateFlow',
    tag,
    summary: 'Activate a flow',
    description:
      'Activates a draft. A paused flow is checked again and resumed. Contacts already in the list or segment of ' +
      `the trigger enter only with \`enter_existing\`. ${CHECKS} If an operator must approve flows, no contacts enter ` +
      'until then.',
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    assistants: { sends: 'always' },
    etag: 'checked',
    params: flowParams,
    body: activateFlowBody,
    bodyOptional: true,
    responses: { 200: { description: 'The active flow.', schema: flowSchema } },
    errors: activationErrors,
    async prepare({ tenant, params }) {
      await requireFlow(pool, tenant, params.id);
      return prepareRequest(deps, tenant);
    },
    handler: async ({ tenant, params, body, ifMatch }, trx, prepared) =>
      flowResult(parts, trx, await activate(trx, deps, tenant, params.id, { body, prepared, ifMatch })),
    load: ({ tenant }, id) => getFlow(pool, tenant, id),
  });
}

interface Action<Body extends z.ZodType> {
  name: string;
  summary: string;
  description: string;
  answer: string;
  body: Body;
  status?: number;
  etag: 'shown' | 'checked';
  assistants?: AssistantRules;
  errors: ErrorCode[];
  work: (
    trx: Parameters<typeof pause>[0],
    tenant: Tenant,
    id: number,
    body: z.output<Body>,
    ifMatch: IfMatch,
  ) => Promise<FlowRow>;
}

/** A POST on a flow whose work is one short transaction. */
function actionRoute<Body extends z.ZodType>(parts: FlowRouteParts, action: Action<Body>): RouteDefinition {
  const status = action.status ?? 200;
  return defineIdempotentRoute({
    path: `${PATH}/:id/${action.name}`,
    operationId: `${action.name}Flow`,
    tag,
    summary: action.summary,
    description: action.description,
    auth: 'brand',
    audit: 'keys too',
    testKeys: 'refused',
    etag: action.etag,
    assistants: action.assistants ?? {},
    params: flowParams,
    body: action.body,
    bodyOptional: true,
    responses: { [status]: { description: action.answer, schema: flowSchema } },
    errors: action.errors,
    async handler({ tenant, params, body, ifMatch }, trx) {
      const row = await action.work(trx, tenant, params.id, body as z.output<Body>, ifMatch);
      return flowResult(parts, trx, row, status);
    },
    load: ({ tenant }, id) => getFlow(parts.pool, tenant, id),
  });
}

const noFields = z.strictObject({});

/** `/v1/my/flows` and the actions on a flow. */
export function createDefinitionRoutes(parts: FlowRouteParts): RouteDefinition[] {
  return [
    listRoute(parts),
    createRoute(parts),
    getRoute(parts),
    changeRoute(parts),
    archiveRoute(parts),
    activateRoute(parts),
    actionRoute(parts, {
      name: 'pause',
      etag: 'checked',
      summary: 'Pause a flow',
      description:
        'Contacts do not enter, runs wait before their next step, and queued messages wait: once the response has ' +
        'arrived, the flow sends nothing.',
      answer: 'The paused flow.',
      body: noFields,
      errors: ['invalid_transition'],
      work: pause,
    }),
    actionRoute(parts, {
      name: 'resume',
      etag: 'checked',
      assistants: { sends: 'always' },
      summary: 'Resume a paused flow',
      description:
        'Contacts who would have entered during the pause do not. `overdue` decides what happens to runs whose step ' +
        'came due during the pause, and to messages that waited.',
      answer: 'The active flow.',
      body: resumeFlowBody,
      errors: ['invalid_transition', 'forbidden'],
      work: resume,
    }),
    actionRoute(parts, {
      name: 'duplicate',
      etag: 'shown',
      summary: 'Copy a flow as a draft',
      description: 'Copies its contents, too. The steps keep their ids.',
      answer: 'The copy.',
      body: duplicateFlowBody,
      status: 201,
      errors: ['forbidden'],
      work: duplicateFlow,
    }),
  ];
}
