// The OpenAPI document is valid, and describes every route, error, limit and event that the API has.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { parse } from 'yaml';
import { errorStatus } from '../../../src/errors.ts';
import { stepTypeNames } from '../../../src/features/flows/steps/index.ts';
import { eventCatalogue, eventTypes } from '../../../src/features/webhooks/catalogue.ts';
import type { RouteInput } from '../../../src/platform/http/input.ts';
import type { RawResult, RouteResult } from '../../../src/platform/http/route.ts';
import { errorsOf } from '../../../src/platform/openapi/error-responses.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { everyStep, proPlan } from '../../support/flow-requests.ts';
import { allowInboxes } from '../../support/inboxes.ts';
import { createAnswerCheck, createCompiler, resolved, type OpenApi } from '../../support/openapi.ts';

let api: TestApi;
let document: OpenApi;

beforeAll(async () => {
  api = await startTestApi();
  await allowInboxes(api.database, api.accountId);
  document = (await api.request<OpenApi>('GET', '/openapi.json', { token: null })).body;
});
afterAll(() => api.close());

const describedRoutes = () => api.routes.filter((route) => !route.opaque);
const templated = (path: string) => path.replace(/:(\w+)/g, '{$1}');

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    expect(document.openapi).toBe('3.1.0');
    const result = await new Validator().validate(structuredClone(document));
    expect(result).toEqual({ valid: true });
  });

  it('is the same in YAML', async () => {
    const yaml = await api.request('GET', '/openapi.yaml', { token: null });
    expect(yaml.headers.get('content-type')).toBe('application/yaml');
    expect(parse(yaml.text)).toEqual(document);
  });

  it('is the same for parsers of YAML 1.1, which take yes, off, 1:30 and 2026-03-01 for other values', async () => {
    const { text } = await api.request('GET', '/openapi.yaml', { token: null });
    expect(parse(text, { version: '1.1' })).toEqual(document);
  });

  it.each(['json', 'yaml'])('is sent as %s from bytes that all responses share', async (notation) => {
    const route = api.routes.find(({ path }) => path === `/openapi.${notation}`);
    const handler = route?.handler as (input: RouteInput) => Promise<RouteResult>;
    const bodies = [await handler({} as RouteInput), await handler({} as RouteInput)].map(
      (result) => (result as RawResult).raw.body,
    );
    expect(bodies[0]).toBeInstanceOf(Buffer);
    expect(bodies[1]).toBe(bodies[0]);
  });

  it('contains every route that is served, except opaque ones, and no other', () => {
    const described = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${method} ${path} ${operationId}`),
    );
    const served = describedRoutes().map(
      (route) => `${route.method.toLowerCase()} ${templated(route.path)} ${route.operationId}`,
    );
    expect(described.sort()).toEqual(served.sort());
  });

  it('names each operation once', () => {
    const ids = api.routes.map((route) => route.operationId);
    expect(ids).toEqual([...new Set(ids)]);
  });

  it('describes every parameter in a path', () => {
    for (const route of describedRoutes()) {
      const { parameters } = document.paths[templated(route.path)]?.[route.method.toLowerCase()] ?? {};
      const described = parameters
        ?.filter((parameter) => parameter.in === 'path')
        .map((parameter) => parameter.name);
      const named = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name);
      expect({ path: route.path, described }).toEqual({ path: route.path, described: named });
    }
  });

  it('lists every error code of every operation under its status', () => {
    for (const route of describedRoutes()) {
      const operation = document.paths[templated(route.path)]?.[route.method.toLowerCase()];
      for (const code of errorsOf(route)) {
        const response = resolved(document, operation?.responses[errorStatus[code]] ?? {});
        expect(JSON.stringify(response.content ?? null)).toContain(`"${code}"`);
      }
    }
  });

  it('says of each POST that its Idempotency-Key counts, or that repeating it does no harm', () => {
    const posts = describedRoutes().filter(
      ({ method, auth }) => method === 'POST' && auth !== 'none' && auth !== 'grant',
    );
    for (const { path, operationId } of posts) {
      const text = JSON.stringify(document.paths[templated(path)]?.post);
      const takesKey = text.includes('/IdempotencyKey');
      expect([operationId, takesKey !== text.includes('Safe to repeat')]).toEqual([operationId, true]);
    }
  });

  it('shows examples that its own schemas accept', () => {
    const { schema = {} } =
      document.paths['/v1/my/messages']?.post?.requestBody?.content['application/json'] ?? {};
    const validate = createCompiler(document)(schema);
    expect(schema.examples).toHaveLength(1);
    for (const example of (schema.examples ?? []) as unknown[]) expect(validate(example)).toBe(true);
  });

  it('describes the limits of ids, pages and X-Brand-Id that are checked', async () => {
    const limits = { type: 'integer', minimum: 1, maximum: 999_999_999_999_999 };
    const parameters = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).flatMap((operation) => operation.parameters),
    );
    const integers = parameters
      .map((parameter) => resolved(document, parameter).schema as { type?: string })
      .filter(({ type }) => type === 'integer');
    expect(integers.length).toBeGreaterThan(15);
    for (const schema of integers) expect(schema).toEqual(limits);
    const { schema } = (document.components.parameters?.BrandId ?? {}) as { schema?: object };
    expect(schema).toEqual({ type: 'string', pattern: '^[1-9][0-9]{0,14}$' });
    const largest = await api.request('GET', '/v1/my/messages?after=999999999999999&page=999999999999999');
    expect(largest.status).toBe(200);
    for (const tooLarge of ['1000000000000000', '0']) {
      const headers = { 'X-Brand-Id': tooLarge };
      expect((await api.request('GET', '/v1/my/messages', { headers })).status).toBe(422);
      expect((await api.request('GET', `/v1/my/messages?page=${tooLarge}`)).status).toBe(422);
      expect((await api.request('GET', `/v1/my/messages/${tooLarge}`)).status).toBe(404);
    }
  });

  it('allows any X-Request-Id, because an unacceptable one is replaced, not refused', async () => {
    const { schema } = (document.components.parameters?.RequestId ?? {}) as { schema?: object };
    expect(schema).toEqual({ type: 'string' });
    const answer = await api.request('GET', '/healthz', { headers: { 'X-Request-Id': '{}' } });
    expect([answer.status, answer.headers.get('x-request-id')]).toEqual([
      200,
      expect.stringMatching(/^[0-9a-f-]{36}$/),
    ]);
  });

  it('has only patterns that common generators understand', () => {
    const patterns = [...JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(
      ([, text]) => JSON.parse(text as string) as string,
    );
    expect(patterns.length).toBeGreaterThan(3);
    for (const pattern of patterns) {
      expect(pattern).not.toMatch(/\\[pP]\{|\(\?/);
      expect(pattern).toMatch(/^\^/);
    }
  });

  it('has components with names that a person would choose, each once', () => {
    const names = Object.keys(document.components.schemas ?? {});
    for (const name of names) expect(name).toMatch(/^(?!.*InputInput)[A-Z][A-Za-z]+$/);
    for (const name of names.filter((each) => each.endsWith('Input'))) {
      const { [name]: input, [name.slice(0, -5)]: output } = document.components.schemas ?? {};
      expect(input).not.toEqual(output);
    }
    expect(JSON.stringify(document.components.schemas)).not.toMatch(
      /(?<!"unevaluatedProperties|"default)":false[,}]/,
    );
  });

  it.each([
    ['FlowStepInput', 'type', stepTypeNames],
    ['DesignSectionInput', 'type', null],
    ['DesignSection', 'type', null],
  ])('shows the variants of %s as components, by their %s', (name, field, values) => {
    const { oneOf, discriminator } = (document.components.schemas?.[name] ?? {}) as {
      oneOf: { $ref: string }[];
      discriminator: { propertyName: string; mapping: Record<string, string> };
    };
    expect(discriminator.propertyName).toBe(field);
    expect(Object.values(discriminator.mapping)).toEqual(oneOf.map(({ $ref }) => $ref));
    if (values) expect(Object.keys(discriminator.mapping)).toEqual(values);
    for (const [value, $ref] of Object.entries(discriminator.mapping)) {
      expect(resolved(document, { $ref })).toMatchObject({ properties: { [field]: { const: value } } });
    }
  });

  it('contains the target of every reference', () => {
    const refs = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref as string);
    expect(refs.length).toBeGreaterThan(0);
    for (const ref of new Set(refs)) expect(resolved(document, { $ref: ref })).toBeDefined();
  });

  it('contains every webhook event with its data', () => {
    expect(Object.keys(document.webhooks)).toEqual(eventTypes);
    for (const type of eventTypes) {
      const { requestBody } = document.webhooks[type]?.post ?? {};
      const { properties } = requestBody?.content['application/json']?.schema ?? {};
      const { data } = properties as { data: { properties: object } };
      expect(Object.keys(data.properties)).toEqual(Object.keys(eventCatalogue[type].data.shape));
    }
  });

  it('has the same problems in the answers of all checks', () => {
    const checks = Object.entries(document.paths).flatMap(([path, methods]) =>
      path.endsWith('/check') ? Object.values(methods) : [],
    );
    expect(checks.map(({ operationId }) => operationId).sort()).toEqual([
      ...['checkCampaign', 'checkContent', 'checkTemplate', 'checkUnsavedFlow'],
    ]);
    for (const { responses } of checks) {
      const { content } = responses[200] as { content: Record<string, { schema: Record<string, unknown> }> };
      const { properties } = resolved(document, content['application/json']?.schema ?? {});
      expect((properties as Record<string, unknown>).problems).toMatchObject({
        type: 'array',
        items: { $ref: '#/components/schemas/CheckProblem' },
      });
    }
  });

  it('allows responses to gain fields', () => {
    for (const methods of Object.values(document.paths)) {
      for (const { responses } of Object.values(methods)) {
        expect(JSON.stringify(responses)).not.toMatch(/"(?:additional|unevaluated)Properties":false/);
      }
    }
  });
});

describe('responses', () => {
  const message = { channel: 'email', to: 'ada@example.com', subject: 'Hi', body: 'Hello' };

  const asked: [method: string, path: string, template: string, body: unknown][] = [
    ['POST', '/v1/my/templates/render', '/v1/my/templates/render', { subject: 'Hi', body: 'Hello' }],
    ['POST', '/v1/my/templates/check', '/v1/my/templates/check', { body: '{{ coupon }}' }],
    ['POST', '/v1/my/previews', '/v1/my/previews', { content: { subject: 'Hi', body: 'Hello' } }],
    ['GET', '/healthz', '/healthz', undefined],
    ['GET', '/v1/my/account', '/v1/my/account', undefined],
    ['GET', '/mcp', '/mcp', undefined],
    ['POST', '/mcp', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }],
    [
      'GET',
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-protected-resource/mcp',
      undefined,
    ],
    ['GET', '/.well-known/oauth-protected-resource', '/.well-known/oauth-protected-resource', undefined],
    ['GET', '/v1/my/brand', '/v1/my/brand', undefined],
    ['PUT', '/v1/my/brand', '/v1/my/brand', { industry: 'bells' }],
    ['POST', '/v1/my/brand/scrape', '/v1/my/brand/scrape', { url: 'http://10.0.0.1' }],
    ['POST', '/v1/my/brand/scrape', '/v1/my/brand/scrape', { url: 'http://93.184.216.34' }],
    ['GET', '/v1/my/brand', '/v1/my/brand', undefined],
    ['POST', '/v1/my/contacts', '/v1/my/contacts', { email: 'ada@example.com', data: { plan: 'pro' } }],
    ['GET', '/v1/my/contacts', '/v1/my/contacts', undefined],
    ['GET', '/v1/my/contacts/1', '/v1/my/contacts/{id}', undefined],
    ['PATCH', '/v1/my/contacts/1', '/v1/my/contacts/{id}', { phone: '+14155550123' }],
    ['GET', '/v1/my/contacts/1/timeline', '/v1/my/contacts/{id}/timeline', undefined],
    ['DELETE', '/v1/my/contacts/1', '/v1/my/contacts/{id}', undefined],
    ['POST', '/v1/my/campaigns', '/v1/my/campaigns', { name: 'Spring sale', data: { team: 'growth' } }],
    ['GET', '/v1/my/campaigns', '/v1/my/campaigns', undefined],
    ['GET', '/v1/my/campaigns/1', '/v1/my/campaigns/{id}', undefined],
    ['PATCH', '/v1/my/campaigns/1', '/v1/my/campaigns/{id}', { name: 'Sale' }],
    ['POST', '/v1/my/campaigns/1/send', '/v1/my/campaigns/{id}/send', {}],
    ['POST', '/v1/my/campaigns/1/cancel', '/v1/my/campaigns/{id}/cancel', undefined],
    ['POST', '/v1/my/campaigns/1/resend_unknown', '/v1/my/campaigns/{id}/resend_unknown', undefined],
    ['POST', '/v1/my/campaigns/1/duplicate', '/v1/my/campaigns/{id}/duplicate', {}],
    ['GET', '/v1/my/campaigns/1/recipients', '/v1/my/campaigns/{id}/recipients', undefined],
    [
      'POST',
      '/v1/my/campaigns/1/recipients/to_list',
      '/v1/my/campaigns/{id}/recipients/to_list',
      { name: 'Openers', opened: true },
    ],
    ['GET', '/v1/my/campaigns/1/recipients/to_list', '/v1/my/campaigns/{id}/recipients/to_list', undefined],
    ['GET', '/v1/my/campaigns/1/report', '/v1/my/campaigns/{id}/report', undefined],
    ['DELETE', '/v1/my/campaigns/1', '/v1/my/campaigns/{id}', undefined],
    ['GET', '/v1/my/delivery/status', '/v1/my/delivery/status', undefined],
    ['GET', '/v1/my/stats', '/v1/my/stats', undefined],
    ['POST', '/v1/my/domains', '/v1/my/domains', { domain: { name: 'asked.test' } }],
    ['GET', '/v1/my/domains', '/v1/my/domains', undefined],
    ['POST', '/v1/my/domains/999999999/recheck', '/v1/my/domains/{id}/recheck', undefined],
    ['DELETE', '/v1/my/domains/999999999', '/v1/my/domains/{id}', undefined],
    ['POST', '/v1/my/inbox_blocks', '/v1/my/inbox_blocks', { domain: 'bad.example' }],
    ['GET', '/v1/my/inbox_blocks', '/v1/my/inbox_blocks', undefined],
    ['DELETE', '/v1/my/inbox_blocks/1', '/v1/my/inbox_blocks/{id}', undefined],
    ['POST', '/v1/my/inboxes', '/v1/my/inboxes', {}],
    ['GET', '/v1/my/inboxes', '/v1/my/inboxes', undefined],
    ['GET', '/v1/my/inboxes/1', '/v1/my/inboxes/{id}', undefined],
    ['PATCH', '/v1/my/inboxes/1', '/v1/my/inboxes/{id}', { name: 'Acme' }],
    ['DELETE', '/v1/my/inboxes/1', '/v1/my/inboxes/{id}', undefined],
    ['POST', '/v1/my/imports', '/v1/my/imports', undefined],
    ['GET', '/v1/my/imports', '/v1/my/imports', undefined],
    ['GET', '/v1/my/imports/999999999', '/v1/my/imports/{id}', undefined],
    ['POST', '/v1/my/imports/999999999/cancel', '/v1/my/imports/{id}/cancel', undefined],
    ['GET', '/v1/my/imports/999999999/errors', '/v1/my/imports/{id}/errors', undefined],
    [
      'POST',
      '/v1/my/validation_operations/quote',
      '/v1/my/validation_operations/quote',
      { contact_ids: [999_999_999] },
    ],
    ['POST', '/v1/my/validation_operations', '/v1/my/validation_operations', { contact_ids: [] }],
    ['GET', '/v1/my/validation_operations', '/v1/my/validation_operations', undefined],
    ['GET', '/v1/my/validation_operations/999999999', '/v1/my/validation_operations/{id}', undefined],
    [
      'POST',
      '/v1/my/validation_operations/999999999/cancel',
      '/v1/my/validation_operations/{id}/cancel',
      undefined,
    ],
    [
      'GET',
      '/v1/my/validation_operations/999999999/items',
      '/v1/my/validation_operations/{id}/items',
      undefined,
    ],
    ['POST', '/v1/my/lists', '/v1/my/lists', { name: 'VIP' }],
    ['GET', '/v1/my/lists', '/v1/my/lists', undefined],
    ['GET', '/v1/my/lists/1', '/v1/my/lists/{id}', undefined],
    ['PATCH', '/v1/my/lists/1', '/v1/my/lists/{id}', { description: 'Of the shop' }],
    [
      'POST',
      '/v1/my/lists/1/contacts/bulk',
      '/v1/my/lists/{id}/contacts/bulk',
      { add: ['ada@example.com', 'no', 999999999], remove: ['bob@example.com'] },
    ],
    ['DELETE', '/v1/my/lists/1', '/v1/my/lists/{id}', undefined],
    ['POST', '/v1/my/events', '/v1/my/events', { event: 'asked', contact_email: 'ada@example.com' }],
    ['POST', '/v1/my/events', '/v1/my/events', { event: 'asked' }],
    [
      'POST',
      '/v1/my/events/batch',
      '/v1/my/events/batch',
      { events: [{ event: 'asked', contact_email: 'ada@example.com' }, { event: 'No' }] },
    ],
    ['GET', '/v1/my/events', '/v1/my/events', undefined],
    ['GET', '/v1/my/events/999999999', '/v1/my/events/{id}', undefined],
    ['DELETE', '/v1/my/events/999999999', '/v1/my/events/{id}', undefined],
    ['GET', '/v1/my/wallet/entries', '/v1/my/wallet/entries', undefined],
    [
      'POST',
      '/v1/my/contacts/bulk_actions',
      '/v1/my/contacts/bulk_actions',
      { action: 'delete', filter: { email: 'nobody@example.com', filters: [] }, dry_run: true },
    ],
    ['GET', '/v1/my/contacts/bulk_actions', '/v1/my/contacts/bulk_actions', undefined],
    ['GET', '/v1/my/contacts/bulk_actions/1', '/v1/my/contacts/bulk_actions/{id}', undefined],
    ['POST', '/v1/my/contacts/bulk_actions/1/cancel', '/v1/my/contacts/bulk_actions/{id}/cancel', undefined],
    ['GET', '/v1/my/uploads', '/v1/my/uploads', undefined],
    ['GET', '/v1/my/uploads/usage', '/v1/my/uploads/usage', undefined],
    ['POST', '/v1/my/exports', '/v1/my/exports', { resource: 'messages', filters: { status: 'sent' } }],
    ['GET', '/v1/my/exports', '/v1/my/exports', undefined],
    ['GET', '/v1/my/exports/1', '/v1/my/exports/{id}', undefined],
    ['POST', '/v1/my/exports/1/cancel', '/v1/my/exports/{id}/cancel', undefined],
    ['GET', '/v1/my/exports/999999999/file', '/v1/my/exports/{id}/file', undefined],
    [
      'POST',
      '/v1/my/flows',
      '/v1/my/flows',
      { name: 'Welcome', trigger: { event: 'asked' }, steps: everyStep },
    ],
    ['GET', '/v1/my/flows', '/v1/my/flows', undefined],
    ['GET', '/v1/my/flows/1', '/v1/my/flows/{id}', undefined],
    ['PATCH', '/v1/my/flows/1', '/v1/my/flows/{id}', { goal: 'bought' }],
    ['POST', '/v1/my/flows/check', '/v1/my/flows/check', { steps: everyStep }],
    ['POST', '/v1/my/flows/simulate', '/v1/my/flows/simulate', { contact_id: 1, steps: everyStep }],
    ['POST', '/v1/my/flows/1/activate', '/v1/my/flows/{id}/activate', undefined],
    ['POST', '/v1/my/flows/1/pause', '/v1/my/flows/{id}/pause', undefined],
    ['POST', '/v1/my/flows/1/resume', '/v1/my/flows/{id}/resume', { overdue: 'exit' }],
    ['POST', '/v1/my/flows/1/enter', '/v1/my/flows/{id}/enter', { contact_ids: [1] }],
    ['POST', '/v1/my/flows/1/duplicate', '/v1/my/flows/{id}/duplicate', undefined],
    ['DELETE', '/v1/my/flows/1', '/v1/my/flows/{id}', undefined],
    ['GET', '/v1/my/flows/1/report', '/v1/my/flows/{id}/report', undefined],
    ['GET', '/v1/my/flows/1/runs', '/v1/my/flows/{id}/runs', undefined],
    ['GET', '/v1/my/flows/1/webhook_secret', '/v1/my/flows/{id}/webhook_secret', undefined],
    ['GET', '/v1/my/flow_runs/999999999', '/v1/my/flow_runs/{id}', undefined],
    ['POST', '/v1/my/flow_runs/999999999/cancel', '/v1/my/flow_runs/{id}/cancel', undefined],
    ['POST', '/v1/my/flows/999999999/simulate', '/v1/my/flows/{id}/simulate', { contact_id: 1 }],
    ['POST', '/v1/my/messages', '/v1/my/messages', message],
    ['GET', '/v1/my/messages', '/v1/my/messages', undefined],
    ['GET', '/v1/my/messages/999999999', '/v1/my/messages/{id}', undefined],
    ['POST', '/v1/my/messages', '/v1/my/messages', { channel: 'pigeon' }],
    ['POST', '/v1/my/segments', '/v1/my/segments', { name: 'Pro', filters: [proPlan] }],
    ['GET', '/v1/my/search?q=1', '/v1/my/search', undefined],
    ['GET', '/v1/my/segments', '/v1/my/segments', undefined],
    ['PUT', '/v1/my/drafts/segments/1', '/v1/my/drafts/{kind}/{resource_id}', { content: {}, base: '"1"' }],
    ['GET', '/v1/my/drafts', '/v1/my/drafts', undefined],
    ['GET', '/v1/my/drafts/segments/1', '/v1/my/drafts/{kind}/{resource_id}', undefined],
    ['DELETE', '/v1/my/drafts/segments/1', '/v1/my/drafts/{kind}/{resource_id}', undefined],
    ['GET', '/v1/my/segments/999999999', '/v1/my/segments/{id}', undefined],
    ['PATCH', '/v1/my/segments/999999999', '/v1/my/segments/{id}', { name: 'Free' }],
    ['DELETE', '/v1/my/segments/999999999', '/v1/my/segments/{id}', undefined],
    ['POST', '/v1/my/segments/preview', '/v1/my/segments/preview', { filters: [proPlan] }],
    ['GET', '/v1/my/segments/names', '/v1/my/segments/names', undefined],
    ['GET', '/v1/my/segments/999999999/contacts', '/v1/my/segments/{id}/contacts', undefined],
    [
      'POST',
      '/v1/my/templates',
      '/v1/my/templates',
      { subject: 'Hi', body: '<p>{{ coupon }}</p>', design: { sections: [{ type: 'divider' }] } },
    ],
    ['POST', '/v1/my/templates', '/v1/my/templates', { body: '{{' }],
    ['GET', '/v1/my/templates', '/v1/my/templates', undefined],
    ['GET', '/v1/my/templates/1', '/v1/my/templates/{id}', undefined],
    ['PATCH', '/v1/my/templates/1', '/v1/my/templates/{id}', { body: '<p>{{ coupon }}</p><img src="a">' }],
    ['POST', '/v1/my/templates/1/duplicate', '/v1/my/templates/{id}/duplicate', { name: 'Copy' }],
    ['GET', '/v1/my/templates/1/check', '/v1/my/templates/{id}/check', undefined],
    ['POST', '/v1/my/templates/1/render', '/v1/my/templates/{id}/render', { variables: { coupon: 'A' } }],
    ['POST', '/v1/my/templates/1/send_test', '/v1/my/templates/{id}/send_test', { to: ['ada@example.com'] }],
    ['POST', '/v1/my/messages', '/v1/my/messages', { channel: 'email', to: 'a@b.test', template_id: 1 }],
    ['GET', '/v1/my/templates/1/versions', '/v1/my/templates/{id}/versions', undefined],
    ['DELETE', '/v1/my/templates/1', '/v1/my/templates/{id}', undefined],
    ['GET', '/v1/my/templates/1/preview', '/v1/my/templates/{id}/preview', undefined],
    ['POST', '/v1/password_resets', '/v1/password_resets', { email: 'ada@example.com' }],
    ['GET', '/v1/password_resets/unknown', '/v1/password_resets/{token}', undefined],
    ['POST', '/v1/password_resets/unknown', '/v1/password_resets/{token}', { password: 'long enough' }],
    ['POST', '/v1/my/suppressions', '/v1/my/suppressions', { email: 'ada@example.com' }],
    ['GET', '/v1/my/suppressions', '/v1/my/suppressions', undefined],
    ['DELETE', '/v1/my/suppressions/999999999', '/v1/my/suppressions/{id}', undefined],
    ['POST', '/v1/my/suppressions/bulk', '/v1/my/suppressions/bulk', { add: ['bob@example.com', 'no'] }],
  ];

  it.each(asked)(
    'to %s %s match the document and have no other field',
    async (method, path, template, body) => {
      const problemsOf = createAnswerCheck(document);
      const response = await api.request<unknown>(method, path, { body });
      expect(response.text).not.toBe('');
      expect(problemsOf(template, method.toLowerCase(), response.status, response.body)).toEqual([]);
    },
  );

  const users = '/v1/my/users';
  const askedByUsers: typeof asked = [
    ['GET', users, users, undefined],
    ['PATCH', '/v1/my/users/1', '/v1/my/users/{id}', { role: 'owner' }],
    ['DELETE', '/v1/my/users/1', '/v1/my/users/{id}', undefined],
    [
      'PUT',
      '/v1/my/user/password',
      '/v1/my/user/password',
      { current_password: 'wrong', password: 'long enough' },
    ],
    ['GET', '/v1/my/mcp_grants', '/v1/my/mcp_grants', undefined],
    ['DELETE', '/v1/my/mcp_grants/1', '/v1/my/mcp_grants/{id}', undefined],
    ['POST', '/v1/my/invitations', '/v1/my/invitations', { email: 'new@acme.test' }],
    ['GET', '/v1/my/invitations', '/v1/my/invitations', undefined],
    ['POST', '/v1/my/invitations/1/resend', '/v1/my/invitations/{id}/resend', undefined],
    ['DELETE', '/v1/my/invitations/1', '/v1/my/invitations/{id}', undefined],
    ['GET', '/v1/invitations/unknown', '/v1/invitations/{token}', undefined],
    ['POST', '/v1/invitations/unknown/accept', '/v1/invitations/{token}/accept', { password: 'long enough' }],
    ['GET', '/v1/my/user/invitations', '/v1/my/user/invitations', undefined],
    ['POST', '/v1/my/user/invitations/1/accept', '/v1/my/user/invitations/{id}/accept', undefined],
    ['POST', '/v1/my/user/invitations/1/decline', '/v1/my/user/invitations/{id}/decline', undefined],
  ];

  it.each(askedByUsers)('to a user’s %s %s match the document', async (method, path, template, body) => {
    const problemsOf = createAnswerCheck(document);
    const response = await api.request<unknown>(method, path, { body, token: api.userJwt });
    expect(problemsOf(template, method.toLowerCase(), response.status, response.body)).toEqual([]);
  });

  it('to a login and for one message match the document', async () => {
    const problemsOf = createAnswerCheck(document);
    const login = await api.request<unknown>('POST', '/v1/login', {
      token: null,
      body: { user: { email: api.email, password: 'correct horse battery staple' } },
    });
    expect(problemsOf('/v1/login', 'post', login.status, login.body)).toEqual([]);
    const sent = await api.request('POST', '/v1/my/messages', { body: message });
    const one = await api.request<unknown>('GET', `/v1/my/messages/${Number(sent.body.id)}`);
    expect(one.status).toBe(200);
    expect(problemsOf('/v1/my/messages/{id}', 'get', one.status, one.body)).toEqual([]);
  });
});

describe('the root path', () => {
  it('redirects a browser to the console', async () => {
    const headers = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const redirect = await fetch(`${api.baseUrl}/`, { headers, redirect: 'manual' });
    expect([redirect.status, redirect.headers.get('location')]).toEqual([302, './console']);
  });

  it.each(['*/*', 'application/json'])('is 404 for a client that accepts %s', async (accept) => {
    const response = await api.request('GET', '/', { token: null, headers: { Accept: accept } });
    expect([response.status, response.body.code]).toEqual([404, 'not_found']);
  });
});

describe('the page', () => {
  it('loads nothing from another host, and its policy forbids it', async () => {
    const page = await api.request('GET', '/docs', { token: null });
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.text).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|\*/);
  });

  it('has every script and style that it refers to', async () => {
    const page = await api.request('GET', '/docs', { token: null });
    const named = [...page.text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, path]) => path as string);
    expect(named).toHaveLength(4);
    for (const path of named) {
      const file = await api.request('GET', `/${path}`, { token: null });
      expect({ path, status: file.status, some: file.text.length > 0 }).toEqual({
        path,
        status: 200,
        some: true,
      });
    }
  });

  it('serves no other file', async () => {
    for (const name of ['index.js', '..%2Fpackage.json', 'package.json', 'constructor']) {
      const file = await api.request('GET', `/docs/assets/${name}`, { token: null });
      expect({ name, status: file.status }).toEqual({ name, status: 404 });
    }
  });
});
