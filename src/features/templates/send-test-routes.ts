import type { ErrorCode } from '../../errors.ts';
import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { defineIdempotentRoute, type RouteDefinition } from '../../platform/http/route.ts';
import { sendTestBody, sendUnsavedTestBody, sentTestSchema, templateParams } from './schema.ts';
import {
  findSentTest,
  prepareTest,
  type PreparedTest,
  prepareUnsavedTest,
  sendTest,
  type SendTestDeps,
} from './send-test.ts';

const description =
  'Sends only to the `test_email_recipients` of the account and the addresses of its users. The subject begins with ' +
  '`[Test]`. Tests have no webhooks and no tracking. They count only in the allowance and the sandbox cap. ' +
  'SMS are charged. An account can send at most 1,000 a day (UTC), together with messages of test keys. With a test key, ' +
  'nothing leaves the service, and nothing is charged.';

const tag = 'Templates';
/** The user is asked before several people get a test. */
const assistants = {
  sends: 'always',
  asks: ({ to }: Record<string, unknown>) => Array.isArray(to) && to.length > 1,
} as const;
const responses = { 200: { description: 'The messages.', schema: sentTestSchema } };
const errors: ErrorCode[] = [
  'sender_not_verified',
  'sandbox_limit_reached',
  'spend_cap_reached',
  'insufficient_funds',
];

async function send(
  deps: SendTestDeps,
  trx: Queryable,
  tenant: Tenant,
  prepared: PreparedTest,
  to: string[] | undefined,
) {
  const { sent, firstId, backlogs } = await sendTest(trx, deps, tenant, prepared, to);
  const afterCommit = () => {
    if (backlogs.length > 0) deps.waker.wake('send', backlogs);
  };
  return { status: 200 as const, body: sent, resourceId: firstId, afterCommit };
}

function ofTemplateRoute(deps: SendTestDeps): RouteDefinition {
  return defineIdempotentRoute({
    path: '/v1/my/templates/:id/send_test',
    operationId: 'sendTestOfTemplate',
    tag,
    summary: 'Send a template to test recipients',
    description,
    auth: 'brand',
    assistants,
    responses,
    errors,
    testKeys: { only: 'samples and variables, no `contact_id`' },
    params: templateParams,
    body: sendTestBody,
    bodyOptional: true,
    prepare: ({ tenant, params, body }) => prepareTest(deps, tenant, params.id, body),
    handler({ tenant, body }, trx, prepared) {
      return send(deps, trx, tenant, prepared, body.to);
    },
    load: ({ tenant }, firstId) => findSentTest(deps.pool, tenant, firstId),
  });
}

function ofContentRoute(deps: SendTestDeps): RouteDefinition {
  return defineIdempotentRoute({
    path: '/v1/my/templates/send_test',
    operationId: 'sendTestOfContent',
    tag,
    summary: 'Send a content that is not saved to test recipients',
    description: `No template is stored. ${description}`,
    auth: 'brand',
    assistants,
    responses,
    errors,
    testKeys: { only: 'variables, no `contact_id`' },
    body: sendUnsavedTestBody,
    prepare: ({ tenant, body }) => prepareUnsavedTest(deps, tenant, body),
    handler({ tenant, body }, trx, prepared) {
      return send(deps, trx, tenant, prepared, body.to);
    },
    load: ({ tenant }, firstId) => findSentTest(deps.pool, tenant, firstId),
  });
}

/** Routes that send tests of templates, and of contents that are not saved. */
export function createSendTestRoutes(deps: SendTestDeps): RouteDefinition[] {
  return [ofTemplateRoute(deps), ofContentRoute(deps)];
}
