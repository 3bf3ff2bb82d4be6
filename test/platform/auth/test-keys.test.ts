// A test key does what its routes allow and nothing else: each route says so, and all else is a 403 with a code of its own.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { defineRoute, type RouteDefinition } from '../../../src/platform/http/route.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import {
  act,
  CAMPAIGNS,
  content,
  filledList,
  prepareSender,
  readyCampaign,
  warmUp,
} from '../../support/campaign-requests.ts';
import { insertContacts } from '../../support/contacts.ts';
import { activeFlow, emailStep, flowOf, FLOWS, warmUpFlows } from '../../support/flow-requests.ts';
import { PATH as VALIDATIONS, startValidation } from '../../support/validation.ts';

let api: TestApi;
let listId: number;
beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://carillon.test' } });
  await prepareSender(api, api, 'acme.test');
  listId = (await filledList(api, api, 2)).listId;
});
afterAll(() => api.close());

const pool = () => api.database.pool;
const byTestKey = (method: string, path: string, body?: unknown) =>
  api.request(method, path, { token: api.testApiKey, ...(body === undefined ? {} : { body }) });
type Request = [method: string, path: string, body?: unknown];
const REFUSED = [403, 'test_key'];
async function answerOf(method: string, path: string, body?: unknown): Promise<unknown[]> {
  const answer = await byTestKey(method, path, body);
  return [answer.status, answer.body.code];
}

describe('every route that keys may use', () => {
  const authenticated = () =>
    api.routes.filter(({ auth, usersOnly }) => !['none', 'user', 'grant'].includes(auth) && !usersOnly);

  it('must declare what test keys may do', () => {
    const make = (testKeys: Pick<RouteDefinition, 'testKeys'>) =>
      defineRoute({
        ...{ method: 'GET', path: '/v1/my/x', operationId: 'getX', tag: 'X', summary: 'X', auth: 'brand' },
        ...{ responses: {}, handler: () => ({ status: 200, body: {} }) },
        ...testKeys,
      });
    expect(() => make({})).toThrow('getX: a route for API keys must declare what test keys may do');
    expect(make({ testKeys: 'refused' }).testKeys).toBe('refused');
    expect(authenticated().filter(({ testKeys }) => testKeys === undefined)).toEqual([]);
  });

  it('refuses test keys before anything else, unless it declares otherwise', async () => {
    const answers = new Map<RouteDefinition, boolean>();
    for (const route of authenticated()) {
      const path = route.path.replaceAll(/:\w+/g, '999999999');
      const answer = await answerOf(route.method, path, route.method === 'GET' ? undefined : { nonsense: 1 });
      answers.set(route, String(answer) === String(REFUSED));
    }
    const wrong = [...answers].filter(([{ testKeys }, refused]) => refused !== (testKeys === 'refused'));
    expect(wrong.map(([{ operationId }]) => operationId)).toEqual([]);
  });

  it('is refused to test keys, with these exceptions', () => {
    const open = authenticated().filter(({ testKeys }) => testKeys !== 'refused');
    expect(open.map(({ operationId }) => operationId).sort()).toEqual([
      ...['cancelMessage', 'cancelValidation'],
      ...['changeCampaign', 'changeFlow', 'changeMessage', 'changeSegment', 'changeTemplate'],
      ...[
        'checkContent',
        'checkTemplate',
        'checkUnsavedFlow',
        'convertDesignToHtml',
        'createCampaign',
        'createFlow',
        'createSegment',
        'createTemplate',
        'downloadMessageAttachment',
        'enterFlow',
      ],
      ...['getAccount', 'getBrand', 'getCampaign', 'getDeliveryStatus', 'getDomain', 'getFlow', 'getMessage'],
      ...['getSegment', 'getTemplate', 'getValidation', 'listCampaigns', 'listDomains', 'listFlows'],
      ...['listMessages', 'listSegments', 'listTemplateVersions', 'listTemplates', 'listValidationItems'],
      ...['listValidations', 'previewTemplate', 'quoteValidation', 'renderContent'],
      ...['renderTemplate'],
      ...['resendMessage', 'sendMessage', 'sendMessageBatch', 'sendTestOfContent', 'sendTestOfTemplate'],
      ...['startValidation', 'trackEvent', 'trackEvents'],
    ]);
  });

  it('says in the description of the API what test keys may do', async () => {
    const { body } = await api.request('GET', '/openapi.json', { token: null });
    const operation = (path: string, method: string) => body.paths?.[path]?.[method];
    const textOf = (path: string, method: string) => String(operation(path, method)?.description);
    expect(textOf('/v1/my/contacts', 'get')).toContain('Not for test keys.');
    expect(textOf('/v1/my/messages', 'post')).toContain('Test keys may use this.');
    expect(textOf('/v1/my/messages', 'get')).toContain('With a test key only: messages of test keys');
    expect(JSON.stringify(operation('/v1/my/contacts', 'get')?.responses?.['403'])).toContain('TestKey');
    const open = JSON.stringify(operation('/v1/my/messages', 'post')?.responses?.['403']);
    expect(open).not.toContain('TestKey');
  });
});

describe('a test key', () => {
  it('renders no values of a contact that it names by id', async () => {
    const [contact_id] = await insertContacts(pool(), api, 1, 'rendered-');
    const { body: own } = await byTestKey('POST', '/v1/my/templates', {
      ...{ channel: 'email', subject: 'Hi', body: '<p>{{ contact.email }}</p>' },
    });
    const path = `/v1/my/templates/${String(own.id)}`;
    for (const action of ['render', 'send_test']) {
      const { status, body } = await byTestKey('POST', `${path}/${action}`, { contact_id });
      expect([status, body.validation_errors]).toEqual([
        422,
        { contact_id: ['is not for test keys; give `variables` instead'] },
      ]);
      expect(body.html).toBeUndefined();
    }
    const samples = await byTestKey('POST', `${path}/render`, {
      variables: { 'contact.email': 'me@acme.test' },
    });
    expect([samples.status, samples.body.html]).toEqual([200, expect.stringContaining('me@acme.test')]);
  });

  it('sees neither the recipient nor the content of a test run', async () => {
    const [contactId] = await insertContacts(pool(), api, 1, 'run-');
    const { rows } = await pool().query<{ id: number }>(
      `insert into messages (account_id, brand_id, channel, status, test, provider, to_address, to_key, subject,
         contact_id, flow_id)
       select $1, $2, 'email', 'delivered', true, 'test', 'run-1@acme.test', 'run-1@acme.test', 'Hi Ada',
         $3, 1
       returning id`,
      [api.accountId, api.brandId, contactId],
    );
    const id = rows[0]?.id ?? 0;
    await pool().query(
      `insert into message_contents (message_id, html, text) values ($1, 'Dear Ada', 'Dear Ada')`,
      [id],
    );
    const one = await byTestKey('GET', `/v1/my/messages/${id}`);
    expect([one.status, one.text]).toEqual([200, expect.not.stringMatching(/run-1|Ada/)]);
    const { list, text } = await byTestKey('GET', '/v1/my/messages');
    expect([list.map((each) => each.id), text]).toEqual([[id], expect.not.stringMatching(/run-1|Ada/)]);
    const live = await api.request('GET', `/v1/my/messages/${id}`);
    expect(live.body).toMatchObject({ to: 'run-1@acme.test', subject: 'Hi Ada', html: 'Dear Ada' });
  });

  it('reads messages of test keys only', async () => {
    const email = { channel: 'email', to: 'ada@example.com', subject: 'Hi', body: 'Hello' };
    const live = await api.request('POST', '/v1/my/messages', { body: email });
    const own = await byTestKey('POST', '/v1/my/messages', email);
    expect([live.status, own.status]).toEqual([201, 201]);
    const { rows } = await pool().query<{ id: number }>(
      `update messages set test = true, status = 'sent', provider = 'smtp' where id = $1 returning id`,
      [(await api.request('POST', '/v1/my/messages', { body: email })).body.id],
    );
    const { list } = await byTestKey('GET', '/v1/my/messages');
    expect(list.map(({ id }) => id)).toContain(own.body.id);
    expect(list.map(({ provider }) => provider)).toEqual(list.map(() => 'test'));
    expect(await answerOf('GET', `/v1/my/messages/${rows[0]?.id}`)).toEqual(REFUSED);
    expect(await answerOf('GET', `/v1/my/messages/${String(own.body.id)}`)).toEqual([200, undefined]);
    expect(await answerOf('GET', `/v1/my/messages/${String(live.body.id)}`)).toEqual(REFUSED);
  });

  it('finds its messages among more live ones than a filter looks at', async () => {
    const email = { channel: 'email', to: 'ada@example.com', subject: 'Hi', body: 'Hello' };
    const own = await byTestKey('POST', '/v1/my/messages', email);
    await pool().query(
      `insert into messages (account_id, brand_id, channel, status)
       select $1, $2, 'email', 'sent' from generate_series(1, 5000)`,
      [api.accountId, api.brandId],
    );
    const { list } = await byTestKey('GET', '/v1/my/messages?limit=1');
    expect(list.map(({ id }) => id)).toEqual([own.body.id]);
  });

  it('sees and changes drafts of campaigns only, and sends none', async () => {
    await warmUp(api, listId);
    const sent = await readyCampaign(api, listId);
    expect((await act(api, sent, 'send')).status).toBe(200);
    const { body: draft } = await byTestKey('POST', CAMPAIGNS, {
      name: 'Draft',
      template_attributes: content,
    });
    const path = `${CAMPAIGNS}/${String(draft.id)}`;
    const changed = await byTestKey('PATCH', path, { name: 'Changed', status: 'draft' });
    expect([changed.status, changed.body.name]).toEqual([200, 'Changed']);
    expect(await answerOf('GET', path)).toEqual([200, undefined]);
    const { list } = await byTestKey('GET', CAMPAIGNS);
    expect(list.map(({ status }) => status)).toEqual(list.map(() => 'draft'));
    expect(list.map(({ id }) => id)).toContain(draft.id);
    const refused: Request[] = [
      ['GET', `${CAMPAIGNS}?status=active`],
      ['GET', `${CAMPAIGNS}/${sent}`],
      ['PATCH', `${CAMPAIGNS}/${sent}`, { name: 'Mine' }],
      ['PATCH', path, { status: 'active' }],
      ['POST', CAMPAIGNS, { name: 'Now', status: 'active' }],
      ['POST', `${path}/send`],
      ['DELETE', path],
    ];
    for (const request of refused) expect([request, await answerOf(...request)]).toEqual([request, REFUSED]);
  });

  it('sees and changes drafts of flows only, and lets contacts enter an active one', async () => {
    await warmUpFlows(api);
    const active = await activeFlow(api);
    const { body: draft } = await byTestKey('POST', FLOWS, { name: 'Draft', steps: [emailStep] });
    const path = `${FLOWS}/${String(draft.id)}`;
    expect((await byTestKey('PATCH', path, { name: 'Changed' })).body.name).toBe('Changed');
    expect((await byTestKey('GET', FLOWS)).list.map(({ id }) => id)).toEqual([draft.id]);
    const refused: Request[] = [
      ['GET', `${FLOWS}?status=active`],
      ['GET', `${FLOWS}/${active}`],
      ['PATCH', `${FLOWS}/${active}`, { name: 'Mine' }],
      ['PATCH', path, { status: 'active' }],
      ['PATCH', path, { status: 'archived' }],
      ['POST', FLOWS, { name: 'Now', status: 'active', trigger: { event: 'x' }, steps: [emailStep] }],
    ];
    for (const request of refused) expect([request, await answerOf(...request)]).toEqual([request, REFUSED]);
    const contact_ids = await insertContacts(pool(), api, 1, 'enters-');
    const entered = await byTestKey('POST', `${FLOWS}/${active}/enter`, { contact_ids });
    expect(entered.body.results).toEqual([{ contact_id: contact_ids[0], status: 'accepted' }]);
  });

  it('changes templates that test keys have created, not those that live messages may use', async () => {
    const { body } = await api.request('POST', '/v1/my/templates', {
      body: { channel: 'email', body: 'One' },
    });
    const path = `/v1/my/templates/${String(body.id)}`;
    expect(await answerOf('PATCH', path, { body: 'Mine' })).toEqual(REFUSED);
    expect(await answerOf('PATCH', path, { name: 'Mine' })).toEqual(REFUSED);
    expect((await byTestKey('GET', path)).body).toMatchObject({ name: null, body: 'One' });
  });

  it('changes templates, but not the content of what is live', async () => {
    const { body: own } = await byTestKey('POST', '/v1/my/templates', { channel: 'email', body: 'One' });
    const changed = await byTestKey('PATCH', `/v1/my/templates/${String(own.id)}`, { body: 'Two' });
    expect([changed.status, changed.body.body]).toEqual([200, 'Two']);
    const sent = await readyCampaign(api, listId);
    await act(api, sent, 'send');
    const active = await activeFlow(api);
    const { rows } = await pool().query<{ id: number }>(
      'select id from templates where campaign_id = $1 or flow_id = $2',
      [sent, active],
    );
    expect(rows).toHaveLength(2);
    for (const { id } of rows) {
      const path = `/v1/my/templates/${id}`;
      expect(await answerOf('PATCH', path, { body: 'Mine' })).toEqual(REFUSED);
      expect(await answerOf('PATCH', path, { name: 'Mine' })).toEqual(REFUSED);
    }
    const { rows: drafts } = await pool().query<{ id: number }>(
      'select id from templates where flow_id = $1',
      [await flowOf(api, { steps: [emailStep] })],
    );
    expect(await answerOf('PATCH', `/v1/my/templates/${drafts[0]?.id}`, { body: 'X' })).toEqual([
      200,
      undefined,
    ]);
  });

  it('defines segments, but neither reads their members nor changes one in use', async () => {
    const filters = [{ name: 'first_name', predicate: 'present' }];
    const { body: inner } = await byTestKey('POST', '/v1/my/segments', { name: 'Inner', filters });
    const path = `/v1/my/segments/${String(inner.id)}`;
    expect(await answerOf('PATCH', path, { filters: [] })).toEqual([200, undefined]);
    const nested = [{ name: 'segment', predicate: 'in', value: [inner.id] }];
    const { body: outer } = await byTestKey('POST', '/v1/my/segments', { name: 'Outer', filters: nested });
    await activeFlow(api, { trigger: { segment_id: outer.id } });
    expect(await answerOf('PATCH', path, { filters })).toEqual(REFUSED);
    expect(await answerOf('GET', `${path}/contacts`)).toEqual(REFUSED);
  });

  it('tracks test events of contacts that exist, and makes no contact', async () => {
    const known = 'known@acme.test';
    await api.request('POST', '/v1/my/contacts', { body: { email: known } });
    const event = { event: 'signed_up', contact_email: known };
    const tracked = await byTestKey('POST', '/v1/my/events', event);
    expect([tracked.status, tracked.body.test]).toEqual([201, true]);
    const stranger = { ...event, contact_email: 'stranger@acme.test' };
    const refused = await byTestKey('POST', '/v1/my/events', stranger);
    expect([refused.status, refused.body.validation_errors]).toEqual([
      422,
      { contact_email: ['belongs to no contact'] },
    ]);
    const contacts = await api.request('GET', '/v1/my/contacts?email=stranger@acme.test');
    expect(contacts.list).toEqual([]);
    expect((await api.request('POST', '/v1/my/events', { body: stranger })).status).toBe(201);
  });

  it('sees validations of test keys only, and no addresses', async () => {
    const [contact] = await insertContacts(pool(), api, 1, 'validated-');
    const live = await startValidation(api, { contact_ids: [contact as number] });
    const [other] = await insertContacts(pool(), api, 1, 'validated-too-');
    const another = await startValidation(api, { contact_ids: [other as number] }, { token: api.testApiKey });
    const named = await startValidation(api, { contact_ids: [contact as number] }, { token: api.testApiKey });
    expect([live.status, another.status, named.status]).toEqual([201, 201, 201]);
    for (const id of [another.body.id, named.body.id]) {
      await pool().query(
        `insert into validation_items (operation_id, contact_id, email, email_key, suggestion, chargeable)
         values ($1, 1, 'ada@acme.test', 'ada@acme.test', 'ada@acme.example', false)`,
        [id],
      );
    }
    const { list } = await byTestKey('GET', VALIDATIONS);
    expect(list.map(({ id }) => Number(id))).toEqual([named.body.id, another.body.id]);
    for (const path of [`${VALIDATIONS}/${live.body.id}`, `${VALIDATIONS}/${live.body.id}/items`]) {
      expect(await answerOf('GET', path)).toEqual(REFUSED);
    }
    expect(await answerOf('POST', `${VALIDATIONS}/${live.body.id}/cancel`)).toEqual(REFUSED);
    const items = (id: number, query = '') => byTestKey('GET', `${VALIDATIONS}/${id}/items${query}`);
    for (const { body } of [named, another]) {
      expect((await items(body.id)).list[0]).toMatchObject({ email: null, suggestion: null });
      expect((await items(body.id, '?format=csv')).text).not.toContain('ada@');
    }
  });
});
