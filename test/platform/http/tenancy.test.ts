// On every route, another tenant's resources are the same 404 as resources that do not exist.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import type { RouteDefinition } from '../../../src/platform/http/route.ts';
import { errorsOf } from '../../../src/platform/openapi/error-responses.ts';
import { startTestApi, type TestApi, type TestTenant } from '../../support/api.ts';
import {
  insertConversation,
  insertConversationMessage,
  insertQuarantined,
} from '../../support/conversations.ts';
import { insertGrant } from '../../support/grants.ts';
import { insertInbox } from '../../support/inboxes.ts';
import { insertSendKey } from '../../support/send-keys.ts';
import { addUpload } from '../../support/uploads.ts';

let api: TestApi;
let routes: RouteDefinition[];
let sendKey: string;
beforeAll(async () => {
  api = await startTestApi();
  sendKey = (await insertSendKey(api.database.pool, api)).key;
  routes = api.routes.filter(({ auth }) => auth !== 'none' && auth !== 'grant');
});
afterAll(() => api.close());

/** Text in the resources of the other tenant. It must never appear in a response. */
const MARK = 'belongs-to-the-other-tenant';

/** Returns what the path names the resource by. */
type Maker = (tenant: TestTenant) => Promise<number | string>;

async function inserted(statement: string, values: unknown[]): Promise<number> {
  const { rows } = await api.database.pool.query<{ id: number }>(statement, values);
  return rows[0]?.id ?? 0;
}

let inboxes = 0;
async function insertMarked(tenant: TestTenant): Promise<number> {
  inboxes += 1;
  const inbox_id = await insertInbox(api.database, tenant, `support${inboxes}@${MARK}.test`);
  const id = await insertConversation(api, tenant, { inbox_id, subject: MARK });
  await insertConversationMessage(api, tenant, { inbox_id, conversation_id: id, subject: MARK });
  return id;
}

const insertInvitation: Maker = ({ accountId }) =>
  inserted(
    `insert into invitations (account_id, email, email_key, role, expires_at)
     values ($1, $2, $2, 'member', now() + interval '1 day')
     on conflict (account_id, email_key) where accepted_at is null and revoked_at is null
       do update set role = 'member' returning id`,
    [accountId, `new@${MARK}.test`],
  );

/**
 * Creates the resource that a path with a parameter names. A new feature with such a path adds a line; otherwise the
 * test below fails.
 */
const makers: Record<string, Maker> = {
  '/v1/my/api_keys/:id': ({ accountId, brandId }) =>
    inserted(
      `insert into api_keys (account_id, brand_id, name, display_prefix, digest)
       values ($1, $2, $3, 'crl', sha256(nextval('messages_id_seq')::text::bytea)) returning id`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/campaigns/:id': ({ accountId, brandId }) =>
    inserted(
      `with made as (
         insert into campaigns (account_id, brand_id, name) values ($1, $2, $3) returning id
       ), template as (
         insert into templates (account_id, brand_id, campaign_id, subject) select $1, $2, id, $3 from made returning id)
       select id from made`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/contacts/:id': ({ accountId, brandId }) =>
    inserted(`insert into contacts (account_id, brand_id, first_name) values ($1, $2, $3) returning id`, [
      accountId,
      brandId,
      MARK,
    ]),
  '/v1/my/conversations/:id': insertMarked,
  '/v1/my/conversations/:conversation_id': insertMarked,
  '/v1/my/inbox_quarantine/:conversation_message_id': async (tenant) => {
    inboxes += 1;
    const inbox_id = await insertInbox(api.database, tenant, `support${inboxes}@${MARK}.test`);
    return insertQuarantined(api, tenant, { inbox_id, subject: MARK });
  },
  '/v1/my/domains/:id': ({ accountId, brandId }) =>
    inserted(
      `insert into domains (account_id, brand_id, name, return_path_host, tracking_host)
       values ($1, $2, $3 || nextval('messages_id_seq') || '.test', 'r', 't') returning id`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/inbox_blocks/:id': ({ accountId, brandId }) => {
    inboxes += 1;
    return inserted(
      'insert into inbox_blocks (account_id, brand_id, domain) values ($1, $2, $3) returning id',
      [accountId, brandId, `${MARK}${inboxes}.test`],
    );
  },
  '/v1/my/invitations/:id': insertInvitation,
  '/v1/my/mcp_grants/:id': async ({ userId, accountId, brandId }) => {
    const choices = [{ accountId, brandId }];
    const grant = { baseUrl: api.baseUrl, userId, choices, clientName: MARK };
    return (await insertGrant(api.database.pool, grant)).grantId;
  },
  '/v1/my/inboxes/:id': (tenant) => {
    inboxes += 1;
    return insertInbox(api.database, tenant, `support${inboxes}@${MARK}.test`);
  },
  '/v1/my/flows/:id': ({ accountId, brandId }) =>
    inserted('insert into flows (account_id, brand_id, name) values ($1, $2, $3) returning id', [
      accountId,
      brandId,
      MARK,
    ]),
  '/v1/my/flow_runs/:id': ({ accountId, brandId }) =>
    inserted(
      `with f as (insert into flows (account_id, brand_id, name) values ($1, $2, $3) returning id)
       insert into flow_runs (account_id, brand_id, flow_id, version_id, contact_id, cause, record, reason)
       select $1, $2, id, 1, 1, 'm1', '{}', $3 from f returning id`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/imports/:id': ({ accountId, brandId }) =>
    inserted(
      `insert into imports (account_id, brand_id, resource, filename, options)
       values ($1, $2, 'contacts', $3, '{"list_ids":[],"mapping":{},"update_existing":true,"subscribe":true,"dry_run":false}')
       returning id`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/validation_operations/:id': ({ accountId, brandId }) =>
    inserted(
      `insert into validation_operations
         (account_id, brand_id, audience_kind, audience_ids, audience_digest, max_contact_id, candidate_count, chargeable_count)
       values ($1, $2, 'contact_ids', '{1}', sha256(convert_to($3, 'UTF8')), 1, 1, 1) returning id`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/lists/:id': ({ accountId, brandId }) =>
    inserted('insert into lists (account_id, brand_id, name) values ($1, $2, $3) returning id', [
      accountId,
      brandId,
      MARK,
    ]),
  '/v1/my/events/:id': ({ accountId, brandId }) =>
    inserted(
      `with n as (
         insert into event_names (brand_id, name) values ($2, 'seen')
         on conflict (brand_id, name) do update set name = excluded.name returning id)
       insert into contact_events (account_id, brand_id, contact_id, name_id, resource_name, created_at)
       select $1, $2, 1, n.id, $3, now() from n returning id`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/contacts/bulk_actions/:id': ({ accountId, brandId }) =>
    inserted(
      `insert into bulk_actions (account_id, brand_id, action, filter, pinned, dry_run)
       values ($1, $2, 'delete', jsonb_build_object('source', $3::text), '{"sets":[],"segments":{},"listIds":[]}', true)
       returning id`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/conversations/bulk_actions/:id': ({ accountId, brandId }) =>
    inserted(
      `insert into bulk_actions (account_id, brand_id, action, filter, pinned, dry_run)
       values ($1, $2, 'delete_conversations', jsonb_build_object('email', $3 || '@acme.test'), '{"up_to": 1}', true)
       returning id`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/exports/:id': ({ accountId, brandId }) =>
    inserted(
      `insert into exports (account_id, brand_id, resource, filters)
       values ($1, $2, 'messages', jsonb_build_object('to', $3::text)) returning id`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/messages/:id': ({ accountId, brandId }) =>
    inserted(
      `insert into messages (account_id, brand_id, channel, status, to_address, to_key, subject)
       values ($1, $2, 'email', 'sent', 'a@b.test', 'a@b.test', $3) returning id`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/drafts/segments/:resource_id': ({ accountId, brandId }) =>
    inserted(
      `with made as (insert into segments (account_id, brand_id, name, filters) values ($1, $2, $3, '[]') returning id)
       insert into drafts (account_id, brand_id, segment_id, content, base)
       select $1, $2, id, json_build_object('name', $3::text), '"1"' from made returning segment_id as id`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/segments/:id': ({ accountId, brandId }) =>
    inserted(`insert into segments (account_id, brand_id, name) values ($1, $2, $3) returning id`, [
      accountId,
      brandId,
      MARK,
    ]),
  '/v1/my/sessions/:id': ({ userId }) =>
    inserted(
      `insert into sessions (user_id, kind, user_agent, expires_at) values ($1, 'token', $2, now() + interval '1 day')
       returning id`,
      [userId, MARK],
    ),
  '/v1/my/suppressions/:id': ({ accountId }) =>
    inserted(
      `insert into suppressions (account_id, address_key, email, reason) values ($1, $2, $2, 'manual')
       on conflict (account_id, address_key) do update set reason = 'manual' returning id`,
      [accountId, `a@${MARK}.test`],
    ),
  '/v1/my/templates/:id': ({ accountId, brandId }) =>
    inserted(
      `insert into templates (account_id, brand_id, name, subject, body) values ($1, $2, $3, $3, $3) returning id`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/attachments/:id': ({ accountId, brandId }) =>
    inserted(
      `with file as (
         insert into attachment_files (account_id, sha256, storage_key, size, kept_until)
         values ($1, sha256('a'), gen_random_uuid(), 1, now()) on conflict (account_id, sha256) do update set size = 1
         returning sha256)
       insert into attachment_uploads (account_id, brand_id, filename, content_type, size, sha256, expires_at)
       select $1, $2, $3, 'text/plain', 1, sha256, now() + interval '1 day' from file returning id`,
      [accountId, brandId, MARK],
    ),
  '/v1/my/uploads/:signed_id': (tenant) => addUpload(api, 'image/png', tenant),
  '/v1/my/user/invitations/:id': insertInvitation,
  '/v1/my/users/:id': async ({ userId }) => userId,
  '/v1/my/webhooks/:id': ({ accountId, brandId }) =>
    inserted(
      `insert into webhooks (account_id, brand_id, url, events, secret_sealed, secret_last4)
       values ($1, $2, $3, '{email.sent}', 'x', 'abcd') returning id`,
      [accountId, brandId, `https://${MARK}.test/`],
    ),
};

/** The resource at the beginning of a path: `/v1/my/webhooks/:id` of `/v1/my/webhooks/:id/deliveries`. */
function makerOf(path: string): Maker | undefined {
  const known = Object.keys(makers).find((prefix) => path === prefix || path.startsWith(`${prefix}/`));
  return known === undefined ? undefined : makers[known];
}

/** Drafts are those of segments. */
const withParameter = () =>
  routes
    .filter((route) => route.path.includes('/:'))
    .map((route) => ({ ...route, path: route.path.replace(':kind', 'segments') }));

/** Bodies with which a request reaches its resource; other routes accept an empty object. */
const bodies: Record<string, object> = {
  putDraft: { content: {}, base: '"1"' },
  changeMessage: { scheduled_at: new Date().toISOString() },
};

/** Lists of things that every account has. */
const neverEmpty = new Set(['/v1/my/api_keys', '/v1/my/brands', '/v1/my/users']);

/** A caller of the first account who may call the route. An API key has no user. */
const callerOf = (route: RouteDefinition) =>
  route.usersOnly || route.auth === 'user' ? api.userJwt : api.apiKey;

function send(
  route: RouteDefinition,
  path: string,
  headers: Record<string, string> = {},
  token = callerOf(route),
) {
  const body = route.body && route.method !== 'GET' ? (bodies[route.operationId] ?? {}) : undefined;
  return api.request(route.method, path, { body, headers, token });
}

describe('another tenant’s', () => {
  it('resource is 404 on every route with a parameter', async () => {
    expect(withParameter().length).toBeGreaterThan(0);
    for (const route of withParameter()) {
      const make = makerOf(route.path);
      if (!make) throw new Error(`add a maker for ${route.path}`);
      const id = await make(api.other);
      const path = route.path.replace(/:\w+/, String(id)).replaceAll(/:\w+/g, '1');
      for (const token of [callerOf(route), ...(route.sendKeys === undefined ? [] : [sendKey])]) {
        const answer = await send(route, path, {}, token);
        expect([route.operationId, answer.status, answer.body.code]).toEqual([
          route.operationId,
          404,
          'not_found',
        ]);
        expect(answer.text).not.toContain(MARK);
      }
    }
  });

  it('resource is the same 404 as one that does not exist', async () => {
    for (const route of withParameter().filter((each) => each.method === 'GET')) {
      const id = await (makerOf(route.path) as Maker)(api.other);
      const path = (value: string) => route.path.replace(/:\w+/, value).replaceAll(/:\w+/g, '1');
      expect((await send(route, path(String(id)))).body).toEqual((await send(route, path('999999'))).body);
    }
  });

  it('rows appear in no list', async () => {
    for (const make of Object.values(makers)) await make(api.other);
    for (const route of routes.filter((each) => each.method === 'GET' && !each.path.includes('/:'))) {
      const query = route.operationId === 'search' ? `?q=${MARK}` : '';
      const answer = await send(route, `${route.path}${query}`);
      expect([route.operationId, answer.status]).toEqual([route.operationId, 200]);
      expect(answer.text).not.toContain(MARK);
      expect(answer.text).not.toContain('Other Company');
      expect(answer.text).not.toContain(`"account_id":${api.other.accountId}`);
      if (route.paginated && !neverEmpty.has(route.path)) {
        expect([route.operationId, answer.text]).toEqual([route.operationId, '[]']);
      }
    }
  });

  it('brand is 404 on every route that needs an account, for a key and for a session', async () => {
    for (const route of routes.filter(({ auth }) => auth !== 'user')) {
      const path = route.path.replaceAll(/:\w+/g, '1');
      for (const token of [api.apiKey, sendKey, api.userJwt]) {
        const answer = await send(route, path, { 'X-Brand-Id': String(api.other.brandId) }, token);
        expect([route.operationId, answer.status]).toEqual([route.operationId, 404]);
        expect([route.operationId, ...errorsOf(route)]).toContain('not_found');
      }
    }
  });
});

describe('every route', () => {
  it('is 404 for a malformed id', async () => {
    for (const route of withParameter()) {
      for (const id of ['abc', '0', '-1', '1.5', '9'.repeat(30), '%00', '..%2f1']) {
        const answer = await send(route, route.path.replaceAll(/:\w+/g, id));
        expect([route.operationId, id, answer.status]).toEqual([route.operationId, id, 404]);
      }
    }
  });

  it('has a schema for each of its parameters, and a unique operation id', () => {
    for (const route of api.routes) {
      const named = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name);
      expect([route.path, Object.keys(route.params?.shape ?? {})]).toEqual([route.path, named]);
    }
    const ids = api.routes.map((route) => route.operationId);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('refuses unknown fields and parameters at any depth', () => {
    // Messages of the protocol may have fields of later versions.
    for (const route of api.routes.filter(({ auth }) => auth !== 'grant')) {
      for (const schema of [route.query, route.body]) {
        if (schema) expect([route.operationId, looseObjects(schema, [])]).toEqual([route.operationId, []]);
      }
    }
  });

  it('refuses an Idempotency-Key of 129 characters if it uses the header', async () => {
    for (const route of routes.filter((each) => each.idempotency !== 'none')) {
      const path = route.path.replaceAll(/:\w+/g, '1');
      const answer = await send(route, path, { 'Idempotency-Key': 'k'.repeat(129) });
      if (answer.status !== 415) {
        expect([route.operationId, answer.status]).toEqual([route.operationId, 422]);
        expect(Object.keys(answer.body.validation_errors ?? {})).toContain('Idempotency-Key');
      }
    }
  });
});

/** Paths of the objects in a schema that accept unknown fields. */
function looseObjects(schema: z.core.$ZodType, path: string[]): string[] {
  const { def } = (schema as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'object': {
      const strict = def.catchall?._zod.def.type === 'never';
      const inner = Object.entries(def.shape).flatMap(([name, each]) => looseObjects(each, [...path, name]));
      return strict ? inner : [path.join('.'), ...inner];
    }
    case 'array':
      return looseObjects(def.element, [...path, '0']);
    case 'union':
      return def.options.flatMap((option) => looseObjects(option, path));
    case 'optional':
    case 'nullable':
    case 'default':
    case 'prefault':
      return looseObjects(def.innerType, path);
    case 'pipe':
      return looseObjects(def.in, path);
    default:
      return [];
  }
}
