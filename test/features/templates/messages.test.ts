// A message keeps the template version of its acceptance, and its request is replayed if the template was deleted.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { messageClasses } from '../../../src/delivery/terms/message.ts';
import { intendMessages } from '../../../src/delivery/ledger/intend/queue-batch.ts';
import { createBrandOf } from '../../../src/features/templates/brand-parts.ts';
import { findTemplate } from '../../../src/features/templates/model.ts';
import { findVersions } from '../../../src/features/templates/template-versions.ts';
import { sourceOf, versionHash } from '../../../src/features/templates/pin.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { testKeyring } from '../../support/webhooks.ts';
import { eventually } from '../../support/eventually.ts';
import { insertSender } from '../../support/queued.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://mail.acme.test' } });
});
afterAll(() => api.close());

const pool = () => api.database.pool;
const post = (body: unknown, rest: Parameters<TestApi['request']>[2] = {}) =>
  api.request('POST', '/v1/my/messages', { body, ...rest });
const detail = async (id: unknown) => (await api.request('GET', `/v1/my/messages/${Number(id)}`)).body;

async function create(body: object = {}, token = api.apiKey): Promise<number> {
  const content = {
    subject: 'Order {{ order.id }}',
    body: '<p>Dear {{ contact.first_name }}, {{ order.text }}</p>',
    reply_to: 'help@acme.test',
  };
  const made = await api.request('POST', '/v1/my/templates', { token, body: { ...content, ...body } });
  expect(made.body).toMatchObject({ id: expect.any(Number) });
  return Number(made.body.id);
}

const request = (templateId: number, rest: object = {}) => ({
  channel: 'email',
  to: 'new@example.com',
  template_id: templateId,
  variables: { order: { id: 7, text: 'thanks & bye' } },
  ...rest,
});

async function versionsOf(templateId: number): Promise<number> {
  const { headers } = await api.request('GET', `/v1/my/templates/${templateId}/versions`);
  return Number(headers.get('x-total-count'));
}

describe('POST /messages with a template', () => {
  it('sends the version of an earlier compiler if the present one refuses the content', async () => {
    const body =
      '<mjml><mj-body><mj-section><mj-column><mj-text>Kept</mj-text></mj-column></mj-section></mj-body></mjml>';
    const templateId = await create({ body });
    const first = await post(request(templateId));
    const faulty = body.replace('</mj-column>', 'lost</mj-column>');
    await pool().query('update templates set body = $2, updated_at = clock_timestamp() where id = $1', [
      templateId,
      faulty,
    ]);
    expect(await post(request(templateId))).toMatchObject({
      status: 422,
      body: { code: 'validation_error' },
    });

    const scope = { accountId: api.accountId, brandId: api.brandId };
    const row = await findTemplate(pool(), scope, templateId);
    if (!row) throw new Error('the template is missing');
    const brand = await createBrandOf(pool(), testKeyring, 'https://mail.acme.test')(scope);
    const hash = versionHash(row, sourceOf(row, brand), 1);
    await pool().query('update template_versions set content_hash = $2 where template_id = $1', [
      templateId,
      hash,
    ]);
    const sent = await post(request(templateId));
    expect(sent.status).toBe(201);
    expect((await detail(sent.body.id)).html).toContain('Kept');
    expect(first.status).toBe(201);
  });

  it('renders it with the variables, and pins its version', async () => {
    const templateId = await create();
    const { status, body } = await post(request(templateId));
    expect(status).toBe(201);
    expect(body).toMatchObject({
      status: 'queued',
      template_id: templateId,
      subject: 'Order 7',
      reply_to: 'help@acme.test',
      from: `sandbox-${api.accountId}@mail.test`,
    });
    const shown = await detail(body.id);
    expect(shown.html).toContain('Dear , thanks &amp; bye');
    expect(shown.text).toContain('thanks & bye');
    const { rows } = await pool().query(
      `select v.template_id from messages m join template_versions v on v.id = m.content_version_id where m.id = $1`,
      [body.id],
    );
    expect(rows).toEqual([{ template_id: templateId }]);
    const { list } = await api.request('GET', `/v1/my/templates/${templateId}/versions`);
    expect(list).toMatchObject([{ template_id: templateId, channel: 'email' }]);
    const listed = await findVersions(pool(), templateId, { number: 1, limit: 1, offset: 0, after: null });
    expect(listed.rows[0]).not.toHaveProperty('html');
  });

  it('uses one version until the template or the brand changes', async () => {
    const templateId = await create();
    await post(request(templateId));
    await post(request(templateId));
    expect(await versionsOf(templateId)).toBe(1);
    await api.request('PATCH', `/v1/my/templates/${templateId}`, { body: { subject: 'New' } });
    expect((await post(request(templateId))).body.subject).toBe('New');
    expect(await versionsOf(templateId)).toBe(2);
    await api.request('PUT', '/v1/my/brand', { body: { default_theme: { brand_color: '#123456' } } });
    await post(request(templateId));
    expect(await versionsOf(templateId)).toBe(3);
    await api.request('PATCH', `/v1/my/templates/${templateId}`, { body: { name: 'Renamed' } });
    await post(request(templateId));
    expect(await versionsOf(templateId)).toBe(3);
  });

  it('uses the values of the contact, and links to unsubscribe', async () => {
    await api.request('POST', '/v1/my/contacts', { body: { email: 'Bo@example.com', first_name: 'Bo' } });
    const templateId = await create({ body: '<p>{{ contact.first_name }} {{ unsubscribe_url }}</p>' });
    const known = await detail((await post(request(templateId, { to: 'bo@example.com' }))).body.id);
    expect(known.html).toContain('Bo https://mail.acme.test/unsubscribe/');
    const other = await detail((await post(request(templateId))).body.id);
    expect(other.html).not.toContain('unsubscribe/');
  });

  it('lets subject, html and body of the request replace the template’s', async () => {
    const templateId = await create();
    const subject = await post(request(templateId, { subject: 'Own {{ order.id }}' }));
    expect(subject.body.subject).toBe('Own {{ order.id }}');
    const html = await detail((await post(request(templateId, { html: '<p>Own</p>' }))).body.id);
    expect(html).toMatchObject({ html: '<p>Own</p>', text: null, subject: 'Order 7' });
    const text = await detail((await post(request(templateId, { body: 'Own' }))).body.id);
    expect(text.text).toBe('Own');
    expect(text.html).toContain('thanks');
  });

  it('renders an SMS, and counts its segments', async () => {
    const templateId = await create({
      channel: 'sms',
      subject: undefined,
      reply_to: undefined,
      body: 'Code {{ code }}',
    });
    const sms = (code: string) => ({
      channel: 'sms',
      to: '+14155552671',
      template_id: templateId,
      variables: { code },
    });
    const { status, body } = await post(sms('x'.repeat(160)));
    expect([status, body.segments, body.template_id]).toEqual([201, 2, templateId]);
    expect((await detail(body.id)).text).toBe(`Code ${'x'.repeat(160)}`);
    const long = await post(sms('x'.repeat(1_600)));
    expect(long.status).toBe(422);
    expect(Object.keys(long.body.validation_errors ?? {})).toEqual(['template_id']);
  });

  it("uses the template's sender if it is verified", async () => {
    const templateId = await create({ from_email: 'ada@shop.test', from_name: 'Ada' });
    const refused = await post(request(templateId));
    expect([refused.status, refused.body.code]).toEqual([422, 'sender_not_verified']);
    await pool().query(
      `insert into domains (account_id, brand_id, name, status, verified_at, return_path_host, tracking_host)
       values ($1, $2, 'shop.test', 'verified', now(), 'r', 't')`,
      [api.accountId, api.brandId],
    );
    await eventually(async () => {
      const { status, body } = await post(request(templateId));
      expect([status, body.from]).toEqual([201, '"Ada" <ada@shop.test>']);
    });
    const own = await post(request(templateId, { from: 'bo@shop.test', reply_to: 'bo@shop.test' }));
    expect(own.body).toMatchObject({ from: 'bo@shop.test', reply_to: 'bo@shop.test' });
  });

  it('reports all errors at once', async () => {
    const { status, body } = await post({
      ...request(999_999_999),
      from: 'a@not-ours.test',
      tags: { account_id: '1' },
    });
    expect([status, body.code]).toEqual([422, 'validation_error']);
    expect(Object.keys(body.validation_errors ?? {}).sort()).toEqual([
      'from',
      'tags.account_id',
      'template_id',
    ]);
  });

  it('refuses a template of another brand, one that was deleted, and one for another channel', async () => {
    const foreign = await create({}, api.other.apiKey);
    const deleted = await create();
    await api.request('DELETE', `/v1/my/templates/${deleted}`);
    const sms = await create({ channel: 'sms', subject: undefined, reply_to: undefined });
    for (const id of [foreign, deleted, sms, 999_999_999]) {
      const { status, body } = await post(request(id));
      expect([status, Object.keys(body.validation_errors ?? {})]).toEqual([422, ['template_id']]);
    }
  });

  it.each([
    ['no body', { body: null }, {}, 'template_id'],
    ['no subject', { subject: null }, {}, 'subject'],
    ['a subject that renders to nothing', { subject: '{{ nothing }}' }, {}, 'subject'],
    ['a loop without end', { body: '<p>{% for a in (1..99999999) %}x{% endfor %}</p>' }, {}, 'template_id'],
    ['variables that are no object', {}, { variables: [] }, 'variables'],
    ['more than 64 KB of variables', {}, { variables: { a: 'x'.repeat(65_536) } }, 'variables'],
  ])('refuses a template with %s', async (_rule, content, rest, field) => {
    const { status, body } = await post(request(await create(content), rest));
    expect([status, Object.keys(body.validation_errors ?? {})]).toEqual([422, [field]]);
  });

  it('accepts a subject for a template without one', async () => {
    const { status, body } = await post(request(await create({ subject: null }), { subject: 'Own' }));
    expect([status, body.subject]).toEqual([201, 'Own']);
  });

  it('replays a request although its template was changed or deleted', async () => {
    const templateId = await create();
    const headers = { 'Idempotency-Key': 'template' };
    const first = await post(request(templateId), { headers });
    await api.request('DELETE', `/v1/my/templates/${templateId}`);
    const again = await post(request(templateId), { headers });
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await post(request(templateId, { subject: 'Other' }), { headers })).status).toBe(409);
  });

  it('has the outcome of a test key', async () => {
    const { body } = await post(request(await create()), { token: api.testApiKey });
    expect(body).toMatchObject({ status: 'delivered', test: true, subject: 'Order 7' });
  });

  it('fails a message whose stored content is missing', async () => {
    const OWNER = 999;
    await insertSender(api.database, OWNER);
    const { body } = await post(request(await create()));
    await pool().query('delete from message_contents where message_id = $1', [body.id]);
    await pool().query('update send_queue set owner = $2, claim_epoch = 1 where message_id = $1', [
      body.id,
      OWNER,
    ]);
    const [checked] = await intendMessages(pool(), {
      owner: OWNER,
      seq: 1,
      provider: 'smtp',
      keyring: testKeyring,
      claims: [{ messageId: Number(body.id), epoch: 1, class: messageClasses.transactional }],
    });
    expect(checked?.verdict).toBe('content_missing');
  });
});
