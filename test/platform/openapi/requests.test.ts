// The OpenAPI document says which requests the API accepts.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { everyStep, proPlan } from '../../support/flow-requests.ts';
import { allowInboxes } from '../../support/inboxes.ts';
import { createCompiler, type OpenApi, resolved } from '../../support/openapi.ts';

let api: TestApi;
let document: OpenApi;
let compile: ReturnType<typeof createCompiler>;

beforeAll(async () => {
  api = await startTestApi();
  await allowInboxes(api.database, api.accountId);
  document = (await api.request<OpenApi>('GET', '/openapi.json', { token: null })).body;
  compile = createCompiler(document);
});
afterAll(() => api.close());

describe('the schema of a request', () => {
  const email = { channel: 'email', to: 'ada@example.com', subject: 'Hi', html: '<p>Hi</p>' };
  const sms = { channel: 'sms', to: '+14155550123', body: 'Hi' };
  const messages = '/v1/my/messages';
  const flows = '/v1/my/flows';
  const branching = (...yes: object[]) => ({ type: 'condition', filters: [proPlan], yes, no: [] });
  const cases: [rule: string, method: string, path: string, body: object, accepted: boolean][] = [
    ['an email', 'POST', messages, email, true],
    ['an email with a blank part', 'POST', messages, { ...email, body: ' ' }, true],
    ['an email without any content', 'POST', messages, { ...email, html: ' ' }, false],
    ['an email without a subject', 'POST', messages, { ...email, subject: undefined }, false],
    ['a blank subject', 'POST', messages, { ...email, subject: ' \u2003' }, false],
    ['a subject of two lines', 'POST', messages, { ...email, subject: 'a\u0085b' }, false],
    ['a recipient without @', 'POST', messages, { ...email, to: '0' }, false],
    ['a sender without @', 'POST', messages, { ...email, from: '0' }, false],
    ['a reply address without @', 'POST', messages, { ...email, reply_to: '0' }, false],
    ['variables without a template', 'POST', messages, { ...email, variables: {} }, false],
    ['a header name with a colon', 'POST', messages, { ...email, headers: { 'a:': 'b' } }, false],
    ['a header of two lines', 'POST', messages, { ...email, headers: { a: 'b\nc' } }, false],
    ['a tag of two lines', 'POST', messages, { ...email, tags: { a: 'b\nc' } }, false],
    ['an SMS', 'POST', messages, sms, true],
    ['an SMS without text', 'POST', messages, { ...sms, body: ' ' }, false],
    ['an SMS to an address', 'POST', messages, { ...sms, to: 'ada@example.com' }, false],
    ['an SMS with a subject', 'POST', messages, { ...sms, subject: 'Hi' }, false],
    ['an avatar that is no signed id', 'PATCH', '/v1/my/account', { avatar: '' }, false],
    ['no avatar', 'PATCH', '/v1/my/account', { avatar: null }, true],
    ['a name of two lines', 'PATCH', '/v1/my/account', { name: 'a\nb' }, false],
    ['a logo that is no URL', 'PUT', '/v1/my/brand', { logo: 'a' }, false],
    ['a logo at a URL', 'PUT', '/v1/my/brand', { logo: 'https://example.com/a.png' }, true],
    ['a link that runs a script', 'PUT', '/v1/my/brand', { links: [{ url: 'javascript:a' }] }, false],
    [
      'a webhook without TLS',
      'POST',
      '/v1/my/webhooks',
      { url: 'http://a.test', events: ['email.sent'] },
      false,
    ],
    ['a webhook that is no URL', 'POST', '/v1/my/webhooks', { url: 'a', events: ['email.sent'] }, false],
    ['an event of nobody', 'POST', '/v1/my/events', { event: 'a' }, false],
    [
      'a suppression of two addresses',
      'POST',
      '/v1/my/suppressions',
      { email: 'a@b.test', phone: sms.to },
      false,
    ],
    ['a suppression of an email address', 'POST', '/v1/my/suppressions', { email: 'a@b.test' }, true],
    ['every step', 'POST', flows, { name: 'a', steps: everyStep }, true],
    ['no steps', 'POST', flows, { name: 'a', steps: [] }, true],
    ['a step of another type', 'POST', flows, { name: 'a', steps: [{ type: 'fax' }] }, false],
    [
      'a step with a field of another',
      'POST',
      flows,
      { name: 'a', steps: [{ type: 'exit', list_id: 1 }] },
      false,
    ],
    ['a wrong step in a branch', 'POST', flows, { name: 'a', steps: [branching({ type: 'fax' })] }, false],
    ['a branch that is null', 'POST', flows, { name: 'a', steps: [{ ...branching(), yes: null }] }, true],
    ['a wait until nothing', 'POST', flows, { name: 'a', steps: [{ type: 'wait', until: {} }] }, false],
    [
      'a filter without a predicate',
      'POST',
      flows,
      { name: 'a', trigger: { data: { filters: [{ name: 'id' }] } } },
      false,
    ],
  ];

  it.each(cases)('says whether the API accepts %s', async (_rule, method, path, body, accepted) => {
    const { requestBody } = document.paths[path]?.[method.toLowerCase()] ?? {};
    const validate = compile(requestBody?.content['application/json']?.schema ?? {});
    const sent: unknown = JSON.parse(JSON.stringify(body));
    expect(validate(sent)).toBe(accepted);
    expect((await api.request(method, path, { body: sent })).status < 300).toBe(accepted);
  });

  /** The objects that a schema consists of. */
  function objectsIn(schema: Record<string, unknown>): Record<string, unknown>[] {
    const found = resolved(document, schema);
    const options = [found.anyOf, found.oneOf].flatMap((group) => (group ?? []) as Record<string, unknown>[]);
    return options.length > 0 ? options.flatMap(objectsIn) : [found];
  }

  it('has the read-only fields that the API takes and ignores', () => {
    const routes = api.routes.filter(({ readOnlyFields }) => (readOnlyFields ?? []).length > 0);
    expect(routes.length).toBeGreaterThan(25);
    for (const { method, path, readOnlyFields } of routes) {
      const { requestBody } = document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()] ?? {};
      for (const { properties } of objectsIn(requestBody?.content['application/json']?.schema ?? {})) {
        const missing = readOnlyFields?.filter((name) => !Object.hasOwn(properties as object, name));
        expect([method, path, missing]).toEqual([method, path, []]);
      }
    }
  });

  const content = { subject: 'Hi', body: 'Hello {{ contact.first_name }}' };
  const filters = [{ name: 'email', predicate: 'cont', value: '@' }];
  const resources: [path: string, method: string, created: object | null][] = [
    ['/v1/my/account', 'PATCH', null],
    ['/v1/my/user', 'PATCH', null],
    ['/v1/my/brand', 'PUT', null],
    ['/v1/my/contacts', 'PATCH', { email: 'ada@example.com', phone: '+14155550123', data: { plan: 'pro' } }],
    ['/v1/my/lists', 'PATCH', { name: 'VIP' }],
    ['/v1/my/segments', 'PATCH', { name: 'Known', filters }],
    ['/v1/my/templates', 'PATCH', { name: 'Welcome', ...content }],
    ['/v1/my/campaigns', 'PATCH', { name: 'Sale', template_attributes: content }],
    ['/v1/my/flows', 'PATCH', { name: 'Welcome', steps: everyStep }],
    ['/v1/my/webhooks', 'PATCH', { url: 'https://93.184.216.34/hook', events: ['email.sent'] }],
    ['/v1/my/inboxes', 'PATCH', {}],
  ];

  it.each(resources)('lets clients send %s back by %s as they got it', async (path, method, created) => {
    const token = api.userJwt;
    const made = created && (await api.request('POST', path, { token, body: created }));
    expect(made?.body.validation_errors ?? {}).toEqual({});
    const place = made ? `${path}/${String(made.body.id)}` : path;
    const { body } = await api.request('GET', place, { token });
    const { requestBody } = document.paths[made ? `${path}/{id}` : path]?.[method.toLowerCase()] ?? {};
    const validate = compile(requestBody?.content['application/json']?.schema ?? {});
    validate(body);
    expect(validate.errors ?? []).toEqual([]);
    const changed = await api.request(method, place, { token, body });
    expect([changed.status, changed.body.validation_errors ?? {}]).toEqual([200, {}]);
  });

  it('says that an empty file is refused', async () => {
    const { requestBody } = document.paths['/v1/my/uploads']?.post ?? {};
    const { properties } = requestBody?.content['multipart/form-data']?.schema ?? {};
    expect(properties).toMatchObject({ file: { type: 'string', minLength: 1 } });
    const rawBody = new FormData();
    rawBody.append('file', new File([], 'empty'));
    expect((await api.request('POST', '/v1/my/uploads', { rawBody })).status).toBe(422);
  });
});
