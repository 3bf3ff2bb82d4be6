// No response to a test key depends on a contact whose address the request does not name: not by a count, nor by a way.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { CAMPAIGNS, filledList, prepareSender } from '../../support/campaign-requests.ts';
import { activeFlow, FLOWS, warmUpFlows } from '../../support/flow-requests.ts';
import { PATH as VALIDATIONS } from '../../support/validation.ts';

/** A contact before and after everything about it has changed. */
const BEFORE = { first_name: 'Ada', email: 'ada@one.test', phone: '+14155550100', data: { plan: 'pro' } };
const AFTER = { first_name: 'Zoe', email: 'zoe@two.test', phone: '+14155550199', data: { plan: 'free' } };
/** An address that belongs to neither. */
const OTHER = 'other@three.test';

let api: TestApi;
let ids: Record<
  | 'contact'
  | 'list'
  | 'segment'
  | 'template'
  | 'campaign'
  | 'flow'
  | 'active'
  | 'domain'
  | 'message'
  | 'validation',
  number
>;

const byTestKey = (method: string, path: string, body?: unknown) =>
  api.request(method, path, { token: api.testApiKey, ...(body === undefined ? {} : { body }) });

async function made(path: string, body: unknown): Promise<number> {
  const { status, body: resource, text } = await byTestKey('POST', path, body);
  if (status !== 201) throw new Error(text);
  return Number(resource.id);
}

const filters = [
  { name: 'first_name', predicate: 'start', value: 'A' },
  { name: 'email', predicate: 'cont', value: 'one' },
];
const isAda = { type: 'condition', filters, yes: [], no: [{ type: 'wait', duration: 60 }] };
const content = {
  channel: 'email',
  subject: 'Hi {{ contact.first_name }}',
  body: '<p>{{ contact.email }}</p>',
};

/** Writes the message of a test run, as it would be now. */
async function rewriteRun(flowId: number, { email, first_name: name }: typeof BEFORE) {
  await api.database.pool.query('delete from messages where flow_id = $1', [flowId]);
  await api.database.pool.query(
    `insert into messages (account_id, brand_id, channel, status, test, provider, to_address, to_key, subject,
       contact_id, flow_id, segments, failure, bounce)
     values ($1, $2, 'email', 'delivered', true, 'test', $3, $3, $4, $5, $6, $7, $8, $9)`,
    [
      ...[api.accountId, api.brandId, email, `Hi ${name}`, ids.contact, flowId, name === 'Ada' ? 1 : 2],
      ...[
        { code: 'rejected', message: email },
        { type: 'hard', subtype: 'blocked', diagnostic: email },
      ],
    ],
  );
}

async function changeContact(isAfter: boolean) {
  const { first_name, email, phone, data } = isAfter ? AFTER : BEFORE;
  const { pool } = api.database;
  await pool.query(
    `update contacts set first_name = $2, email = $3, email_key = $3, phone = $4, data = $5,
       email_subscribed = $6, phone_subscribed = $6 where id = $1`,
    [ids.contact, first_name, email, phone, data, !isAfter],
  );
  await rewriteRun(ids.active, isAfter ? AFTER : BEFORE);
  if (!isAfter) return;
  await pool.query('delete from list_members where contact_id = $1', [ids.contact]);
  await pool.query(
    `insert into suppressions (account_id, address_key, email, reason) values ($1, $2, $2, 'hard_bounce')`,
    [api.accountId, email],
  );
}

beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://carillon.test' } });
  await prepareSender(api, api, 'acme.test');
  await warmUpFlows(api);
  const { listId, contactIds } = await filledList(api, api, 1);
  const { rows } = await api.database.pool.query<{ id: number }>(
    'select id from domains where brand_id = $1',
    [api.brandId],
  );
  const [contact = 0] = contactIds;
  ids = {
    contact,
    list: listId,
    segment: await made('/v1/my/segments', { name: 'By key', filters }),
    template: await made('/v1/my/templates', { name: 'By key', ...content }),
    campaign: await made(CAMPAIGNS, { name: 'By key', trigger_attributes: { contact_list_id: listId } }),
    flow: await made(FLOWS, { name: 'By key', steps: [isAda] }),
    active: await activeFlow(api, { steps: [isAda] }),
    domain: rows[0]?.id ?? 0,
    message: await made('/v1/my/messages', { channel: 'email', to: OTHER, subject: 'Hi', body: 'Hi' }),
    validation: await made(VALIDATIONS, { contact_ids: [contact] }),
  };
  await changeContact(false);
});
afterAll(() => api.close());

type Request = [method: string, path: string, body?: unknown];

/** Requests of every route that test keys may use, which name the contact by what they can. */
function requests(): Record<string, Request[]> {
  const { contact, list, segment, template, campaign, flow, active, domain, message, validation } = ids;
  const contact_ids = [contact];
  const audiences = [{ contact_ids }, { list_id: list }, { segment_id: segment }];
  const event = { event: 'signed_up', contact_id: contact };
  const unsaved = { trigger: { segment_id: segment, filters }, steps: [isAda] };
  const mail = { channel: 'email', to: OTHER };
  return {
    getAccount: [['GET', '/v1/my/account']],
    getBrand: [['GET', '/v1/my/brand']],
    getDeliveryStatus: [['GET', '/v1/my/delivery/status']],
    listDomains: [['GET', '/v1/my/domains']],
    getDomain: [['GET', `/v1/my/domains/${domain}`]],
    sendMessage: [['POST', '/v1/my/messages', { ...mail, template_id: template }]],
    sendMessageBatch: [['POST', '/v1/my/messages/batch', { messages: [{ ...mail, template_id: template }] }]],
    resendMessage: [['POST', `/v1/my/messages/${message}/resend`]],
    changeMessage: [['PATCH', `/v1/my/messages/${message}`, { scheduled_at: '2020-01-01T00:00:00Z' }]],
    cancelMessage: [['POST', `/v1/my/messages/${message}/cancel`]],
    listMessages: [
      ...[BEFORE, AFTER].flatMap(({ first_name: name, email }): Request[] => [
        ['GET', `/v1/my/messages?to=${email}`],
        ['GET', `/v1/my/messages?subject=${name}`],
      ]),

      ['GET', `/v1/my/messages?contact_id=${contact}`],
      ['GET', '/v1/my/messages?subject=A'],
    ],
    getMessage: [['GET', `/v1/my/messages/${message}`]],
    downloadMessageAttachment: [['GET', `/v1/my/messages/${message}/attachments/1`]],
    listTemplates: [['GET', '/v1/my/templates']],
    getTemplate: [['GET', `/v1/my/templates/${template}`]],
    createTemplate: [['POST', '/v1/my/templates', content]],
    changeTemplate: [['PATCH', `/v1/my/templates/${template}`, { name: 'Other' }]],
    checkTemplate: [['GET', `/v1/my/templates/${template}/check`]],
    previewTemplate: [['GET', `/v1/my/templates/${template}/preview`]],
    listTemplateVersions: [['GET', `/v1/my/templates/${template}/versions`]],
    renderTemplate: [
      ['POST', `/v1/my/templates/${template}/render`, { sample: true }],
      ['POST', `/v1/my/templates/${template}/render`, { contact_id: contact }],
    ],
    renderContent: [
      ['POST', '/v1/my/templates/render', content],
      ['POST', '/v1/my/templates/render', { ...content, contact_id: contact }],
    ],
    convertDesignToHtml: [
      [
        'POST',
        '/v1/my/templates/html',
        { design: { sections: [{ type: 'text', props: { html: '<p>Hi</p>' } }] } },
      ],
    ],
    checkContent: [['POST', '/v1/my/templates/check', content]],
    sendTestOfTemplate: [['POST', `/v1/my/templates/${template}/send_test`, { contact_id: contact }]],
    sendTestOfContent: [['POST', '/v1/my/templates/send_test', { ...content, contact_id: contact }]],
    listSegments: [['GET', '/v1/my/segments']],
    getSegment: [['GET', `/v1/my/segments/${segment}`]],
    createSegment: [['POST', '/v1/my/segments', { name: 'By key', filters }]],
    changeSegment: [['PATCH', `/v1/my/segments/${segment}`, { filters }]],
    trackEvent: [['POST', '/v1/my/events', event]],
    trackEvents: [['POST', '/v1/my/events/batch', { events: [event] }]],
    quoteValidation: audiences.map((audience) => ['POST', `${VALIDATIONS}/quote`, audience]),
    startValidation: audiences.map((audience) => ['POST', VALIDATIONS, audience]),
    listValidations: [['GET', VALIDATIONS]],
    getValidation: [['GET', `${VALIDATIONS}/${validation}`]],
    listValidationItems: [['GET', `${VALIDATIONS}/${validation}/items`]],
    cancelValidation: [['POST', `${VALIDATIONS}/${validation}/cancel`]],
    listCampaigns: [['GET', CAMPAIGNS]],
    getCampaign: [['GET', `${CAMPAIGNS}/${campaign}`]],
    createCampaign: [['POST', CAMPAIGNS, { name: 'By key', trigger_attributes: { segment_id: segment } }]],
    changeCampaign: [['PATCH', `${CAMPAIGNS}/${campaign}`, { trigger_attributes: { segment_id: segment } }]],
    listFlows: [['GET', FLOWS]],
    getFlow: [['GET', `${FLOWS}/${flow}`]],
    createFlow: [['POST', FLOWS, { name: 'By key', ...unsaved }]],
    changeFlow: [['PATCH', `${FLOWS}/${flow}`, { steps: [isAda] }]],
    checkUnsavedFlow: [['POST', `${FLOWS}/check`, unsaved]],
    enterFlow: [['POST', `${FLOWS}/${active}/enter`, { contact_ids }]],
  };
}

/** What may differ between two requests. */
const DIFFERING = /^(id|\w+_id|\w*ids|\w+_at|revision|idempotency_key|position)$/;

/** A response without ids and times of what requests have made, and without the items that earlier ones have made. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 1).map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name]) => !DIFFERING.test(name));
  return Object.fromEntries(kept.map(([name, each]) => [name, comparable(each)]));
}

async function answers(): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  // A second validation of the same contacts waits for the end of the first.
  await api.database.pool.query(`update validation_operations set status = 'canceled', finished_at = now()`);
  for (const [operation, all] of Object.entries(requests())) {
    for (const [method, path, body] of all) {
      const { status, body: answer, list, text } = await byTestKey(method, path, body);
      const parsed = text.startsWith('[') ? list : text.startsWith('{') ? answer : text;
      const name = `${operation} ${JSON.stringify(body ?? path).slice(0, 120)}`;
      found[name] = { status, answer: comparable(parsed) };
      for (const { first_name: first, email, phone } of [BEFORE, AFTER]) {
        for (const secret of [`"${first}"`, email, phone])
          expect([name, text]).not.toEqual([name, expect.stringContaining(secret)]);
      }
    }
  }
  return found;
}

it('names a request of every route that test keys may use', () => {
  const open = api.routes.filter(
    ({ auth, usersOnly, testKeys }) =>
      (auth === 'account' || auth === 'brand') && !usersOnly && testKeys !== 'refused',
  );
  expect(Object.keys(requests()).sort()).toEqual(open.map(({ operationId }) => operationId).sort());
});

it('answers the same whatever is known of a contact', async () => {
  // The first requests make what the next ones list.
  await answers();
  const before = await answers();
  await changeContact(true);
  expect(await answers()).toEqual(before);
});

it.each([
  ['POST', '/v1/my/segments/preview', { filters: [{ name: 'email', predicate: 'start', value: 'a' }] }],
  ['POST', `${FLOWS}/simulate`, { steps: [isAda], contact_id: 1 }],
])('refuses %s %s, which would count or tell contacts apart', async (method, path, body) => {
  const { status, body: answer } = await byTestKey(method, path, body);
  expect([status, answer.code]).toEqual([403, 'test_key']);
});

it('refuses the simulation of a saved flow', async () => {
  const { status, body } = await byTestKey('POST', `${FLOWS}/${ids.flow}/simulate`, {
    contact_id: ids.contact,
  });
  expect([status, body.code]).toEqual([403, 'test_key']);
});

it.each(['', '/quote'])(
  'refuses to validate lists and segments at /validation_operations%s',
  async (path) => {
    for (const audience of [{ list_id: ids.list }, { segment_id: ids.segment }]) {
      const { status, body } = await byTestKey('POST', `${VALIDATIONS}${path}`, audience);
      expect([audience, status, body.code]).toEqual([audience, 403, 'test_key']);
    }
  },
);
