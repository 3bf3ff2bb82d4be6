import { Readable } from 'node:stream';
import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import { pageOf, pageQuery } from '../../src/platform/db/paging.ts';
import { paginate } from '../../src/platform/http/pagination.ts';
import { defineIdempotentRoute, defineRoute, type RouteDefinition } from '../../src/platform/http/route.ts';

const responses = { 200: { description: 'The result.', schema: null } };

/** Parses every kind of input and returns the parsed values. */
const echo = defineRoute({
  method: 'POST',
  path: '/v1/my/probe/echo/:id',
  operationId: 'probeEcho',
  tag: 'Probe',
  summary: 'Return the parsed input',
  auth: 'brand',
  testKeys: 'allowed',
  idempotency: 'own',
  params: z.object({ id: z.coerce.number().int().positive().max(Number.MAX_SAFE_INTEGER) }),
  query: z.strictObject({ verbose: z.enum(['true', 'false']).optional() }),
  body: z.strictObject({
    subject: z.string().max(20),
    count: z.int().min(1).max(10).optional(),
    reply_to: z.email().optional(),
    links: z
      .array(z.strictObject({ url: z.url(), title: z.string().min(1) }))
      .max(2)
      .optional(),
    data: z.record(z.string(), z.unknown()).optional(),
    kind: z.enum(['one', 'two']).default('one'),
  }),
  readOnlyFields: ['id', 'created_at'],
  responses,
  handler: ({ params, query, body, tenant, requestId, idempotencyKey }) => ({
    status: 200,
    body: { params, query, body, tenant, requestId, idempotencyKey },
  }),
});

const optionalBody = defineRoute({
  method: 'POST',
  path: '/v1/my/probe/optional',
  operationId: 'probeOptional',
  tag: 'Probe',
  summary: 'A body that may be left out',
  auth: 'brand',
  testKeys: 'allowed',
  idempotency: 'none',
  body: z.strictObject({ type: z.string().default('email.delivered') }),
  bodyOptional: true,
  responses,
  handler: ({ body }) => ({ status: 200, body }),
});

/** Returns what an opaque route receives. */
const opaque = defineRoute({
  method: 'POST',
  path: '/v1/my/probe/opaque',
  operationId: 'probeOpaque',
  tag: 'Probe',
  summary: 'Return the bytes',
  auth: 'none',
  idempotency: 'none',
  opaque: true,
  maxBodyBytes: 20,
  responses,
  handler: async ({ readBytes, body, query, ctx }) => ({
    status: 200,
    body: {
      bytes: (await readBytes()).toString('latin1'),
      querystring: ctx.querystring,
      parsed: [body, query],
    },
  }),
});

const admins = defineRoute({
  method: 'GET',
  path: '/v1/my/probe/admins',
  operationId: 'probeAdmins',
  tag: 'Probe',
  summary: 'For owners and admins',
  auth: 'brand',
  testKeys: 'allowed',
  roles: ['owner', 'admin'],
  responses,
  handler: ({ tenant }) => ({ status: 200, body: tenant }),
});

const everyRole = defineRoute({
  method: 'GET',
  path: '/v1/my/probe/tenant',
  operationId: 'probeTenant',
  tag: 'Probe',
  summary: 'For every role',
  auth: 'brand',
  testKeys: 'allowed',
  responses,
  handler: ({ tenant }) => ({ status: 200, body: tenant }),
});

const failures = {
  bug: () => new Error('the secret reason'),
  known: () => new AppError('conflict', 'not possible in this state'),
  database: () => Object.assign(new Error('terminating connection'), { code: '57P01' }),
};

const failing = defineRoute({
  method: 'GET',
  path: '/v1/my/probe/failing/:how',
  operationId: 'probeFailing',
  tag: 'Probe',
  summary: 'Throw',
  auth: 'none',
  params: z.object({ how: z.enum(['bug', 'known', 'database']) }),
  responses,
  handler({ params }) {
    throw failures[params.how]();
  },
});

/** Sends the beginning of a body, then fails. */
const broken = defineRoute({
  method: 'GET',
  path: '/v1/my/probe/broken',
  operationId: 'probeBroken',
  tag: 'Probe',
  summary: 'Fail inside the body',
  auth: 'none',
  responses,
  handler() {
    async function* chunks() {
      yield 'begun';
      await new Promise((resolve) => setTimeout(resolve, 10));
      throw new Error('the source broke');
    }
    return { status: 200, raw: { contentType: 'text/plain', body: Readable.from(chunks()) } };
  },
});

/** Returns a list of 40 items, with the ids 40 to 1. */
const pages = defineRoute({
  method: 'GET',
  path: '/v1/my/probe/pages',
  operationId: 'probePages',
  tag: 'Probe',
  summary: 'A list',
  auth: 'none',
  query: z.strictObject({ ...pageQuery, odd: z.enum(['true']).optional() }),
  paginated: true,
  responses,
  handler(input) {
    const page = pageOf(input.query);
    const all = Array.from({ length: 40 }, (_, index) => ({ id: 40 - index }));
    const wanted = all.filter(({ id }) => input.query.odd === undefined || id % 2 === 1);
    const older = wanted.filter(({ id }) => page.after === null || id < page.after);
    const rows = older.slice(page.offset, page.offset + page.limit);
    return paginate(input, page, rows, { total: wanted.length, estimated: input.query.odd === 'true' });
  },
});

/** A route that responds when `release` is called. */
export interface SlowRoute {
  route: RouteDefinition;
  started: Promise<void>;
  release(): void;
}

export function createSlowRoute(): SlowRoute {
  const started = Promise.withResolvers<undefined>();
  const released = Promise.withResolvers<undefined>();
  const route = defineRoute({
    method: 'GET',
    path: '/v1/my/probe/slow',
    operationId: 'probeSlow',
    tag: 'Probe',
    summary: 'Wait to be released',
    auth: 'none',
    responses,
    async handler() {
      started.resolve(undefined);
      await released.promise;
      return { status: 200, body: 'done' };
    },
  });
  return { route, started: started.promise, release: () => released.resolve(undefined) };
}

/** Inserts a row into `uploads`. Any table would show what commits together with an idempotency key. */
export const makeUpload = defineIdempotentRoute({
  path: '/v1/my/probe/uploads',
  operationId: 'probeMakeUpload',
  tag: 'Probe',
  summary: 'Insert a row, once per key',
  auth: 'brand',
  testKeys: 'allowed',
  body: z.strictObject({
    filename: z.string(),
    kind: z.enum(['one', 'two']).default('one'),
    wait_ms: z.int().min(0).max(2_000).default(0),
    fail: z.boolean().default(false),
  }),
  responses: { 201: { description: 'The new row.', schema: null } },
  async handler({ body, tenant }, trx) {
    const { rows } = await trx.query<{ id: number }>(
      `insert into uploads (account_id, brand_id, filename, content_type, size, storage_key)
       values ($1, $2, $3, 'text/plain', 1, gen_random_uuid()) returning id`,
      [tenant.accountId, tenant.brandId, body.filename],
    );
    await trx.query('select pg_sleep($1 / 1000.0)', [body.wait_ms]);
    if (body.fail) throw new AppError('conflict', 'not this time');
    const id = rows[0]?.id ?? 0;
    return { status: 201, body: { id, filename: body.filename }, resourceId: id };
  },
  async load({ ctx }, resourceId) {
    return { id: resourceId, loaded: true, path: ctx.path };
  },
});

/** Routes that test the HTTP layer independently of the features. */
export const probeRoutes: RouteDefinition[] = [
  echo,
  optionalBody,
  opaque,
  admins,
  everyRole,
  failing,
  broken,
  pages,
  makeUpload,
];
