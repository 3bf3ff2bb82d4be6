// A read-only field that a request changes is refused if another field changes it; a copy of the resource is accepted.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi, type TestBody } from '../support/api.ts';

let api: TestApi;
let listId: number;
beforeAll(async () => {
  api = await startTestApi();
  const list = await send('POST', '/lists', { name: 'Everyone' });
  listId = Number(list.body.id);
});
afterAll(() => api.close());

type Body = Record<string, unknown>;
const send = (method: string, path: string, body?: unknown) =>
  api.request(method, `/v1/my${path}`, body === undefined ? {} : { body });

async function made(path: string, body: Body): Promise<TestBody> {
  const response = await send('POST', path, body);
  expect(response.body).toMatchObject({ id: expect.any(Number) });
  return response.body;
}

/** Expects a refusal that names the field and its twin, and a resource that stays as it was. */
async function expectRefused(path: string, body: Body, field: string, twin: string): Promise<void> {
  const before = await send('GET', path);
  const response = await send('PATCH', path, body);
  expect(response.status).toBe(422);
  expect(response.body.validation_errors).toEqual({ [field]: [expect.stringContaining(twin)] });
  expect((await send('GET', path)).body).toEqual(before.body);
}

const inner = (resource: TestBody, field: string) => resource[field] as unknown as TestBody;

describe('a campaign', () => {
  let campaign: TestBody;
  let path: string;
  beforeAll(async () => {
    campaign = await made('/campaigns', {
      name: 'News',
      trigger_attributes: { contact_list_id: listId, data: { note: 'x' } },
      template_attributes: { subject: 'Hi', body: 'Hello' },
    });
    path = `/campaigns/${String(campaign.id)}`;
  });

  it('takes a copy of itself with an edited name, also one of a list', async () => {
    const [listed] = (await send('GET', '/campaigns')).body as unknown as TestBody[];
    const [summary] = (await send('GET', '/campaigns?summary=true')).body as unknown as TestBody[];
    for (const copy of [campaign, listed, summary]) {
      const { status, body } = await send('PATCH', path, { ...copy, name: 'Renamed' });
      expect(body).toMatchObject({ name: 'Renamed' });
      expect(status).toBe(200);
    }
  });

  it('takes a copy whose counts and times are old', async () => {
    const trigger = { ...inner(campaign, 'trigger'), triggered_count: 7, updated_at: '2020-01-01T00:00:00Z' };
    expect((await send('PATCH', path, { ...campaign, trigger, sent_count: 9 })).status).toBe(200);
  });

  const edits: [string, string, (before: TestBody) => Body][] = [
    ['trigger', 'trigger_attributes', () => ({ trigger: { segment_id: 99 } })],
    [
      'trigger',
      'trigger_attributes',
      (it) => ({ trigger: { ...inner(it, 'trigger'), contact_list_id: null } }),
    ],
    ['trigger', 'trigger_attributes', (it) => ({ trigger: { ...inner(it, 'trigger'), data: {} } })],
    ['template', 'template_attributes', (it) => ({ template: { ...inner(it, 'template'), subject: 'No' } })],
    [
      'templates',
      'template_attributes',
      (it) => ({ templates: [{ ...inner(it, 'template'), body: 'Other' }] }),
    ],
    ['trigger', 'trigger_attributes', () => ({ trigger: 7 })],
  ];
  it.each(edits)('refuses another %s and names %s', async (field, twin, edit) => {
    await expectRefused(path, edit(campaign), field, twin);
  });

  it('takes a change that its twin makes, too', async () => {
    const response = await send('PATCH', path, {
      ...campaign,
      template: { ...inner(campaign, 'template'), subject: 'Both' },
      template_attributes: { subject: 'Both' },
    });
    expect(response.status).toBe(200);
    expect(inner(response.body, 'template').subject).toBe('Both');
  });

  it('is not checked with a read-only field that differs', async () => {
    const response = await send('POST', `${path}/check`, { trigger: { segment_id: 99 } });
    expect(response.status).toBe(422);
    expect(response.body.validation_errors).toHaveProperty('trigger');
  });

  it('is not created from a copy without its twins', async () => {
    const response = await send('POST', '/campaigns', { ...campaign, name: 'Copy' });
    expect(response.status).toBe(422);
    expect(response.body.validation_errors).toMatchObject({
      trigger: [expect.stringContaining('trigger_attributes')],
      template: [expect.stringContaining('template_attributes')],
    });
    const twins = { trigger_attributes: { contact_list_id: listId }, template_attributes: { subject: 'x' } };
    expect((await send('POST', '/campaigns', { ...campaign, ...twins })).status).toBe(201);
  });
});

describe('a flow', () => {
  it('takes a copy of itself, and refuses other templates', async () => {
    const flow = await made('/flows', {
      name: 'Welcome',
      trigger: { event: 'signed_up' },
      steps: [{ type: 'email', subject: 'Hi', body: 'Hello' }],
    });
    const path = `/flows/${String(flow.id)}`;
    expect((await send('PATCH', path, { ...flow, name: 'Renamed' })).status).toBe(200);
    const { body: stored } = await send('GET', path);
    const [template] = stored.templates as unknown as TestBody[];
    await expectRefused(
      path,
      { ...stored, templates: [{ ...template, subject: 'No' }] },
      'templates',
      'steps',
    );
    await expectRefused(path, { templates: [] }, 'templates', 'steps');
    expect((await send('POST', '/flows', { name: 'x', templates: [template] })).status).toBe(422);
  });
});

describe('a new resource', () => {
  const message = { channel: 'email', to: 'a@b.test', subject: 'Hi', html: '<p>Hi</p>' };
  const cases: [string, Body, string, string][] = [
    ['/messages', { ...message, text: 'Hi' }, 'text', 'body'],
    ['/messages', { ...message, idempotency_key: 'order-1' }, 'idempotency_key', 'Idempotency-Key'],
  ];
  it.each(cases)('%s refuses what would be dropped: %j', async (path, body, field, twin) => {
    const response = await send('POST', path, body);
    expect(response.status).toBe(422);
    expect(response.body.validation_errors).toEqual({ [field]: [expect.stringContaining(twin)] });
  });

  it('takes fields without a value', async () => {
    const copy = { ...message, text: null, idempotency_key: null, sent_at: '2026-01-01T00:00:00Z' };
    const { body } = await send('POST', '/messages', copy);
    expect(body.validation_errors ?? {}).not.toHaveProperty('text');
    expect(body.validation_errors ?? {}).not.toHaveProperty('idempotency_key');
  });
});
