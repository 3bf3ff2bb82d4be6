// The templates API rejects invalid designs with their path, and returns templates unchanged.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());
beforeEach(() => api.database.pool.query('truncate templates, template_versions, campaigns, drafts'));

const PATH = '/v1/my/templates';
const pool = () => api.database.pool;
const create = (body: unknown = {}, headers = {}) => api.request('POST', PATH, { body, headers });
const get = (id: unknown) => api.request('GET', `${PATH}/${Number(id)}`);
const patch = (id: unknown, body: unknown) => api.request('PATCH', `${PATH}/${Number(id)}`, { body });

const content = {
  name: 'Welcome',
  subject: 'Hello {{ contact.first_name }}',
  preheader: 'Glad that you are here',
  body: '<p>Your code is {{ coupon }}.</p>',
  from_name: 'Ada',
  from_email: 'ada@acme.test',
  reply_to: 'help@acme.test',
};

const design = {
  sections: [
    {
      type: 'header',
      props: { title: 'Acme' },
      styles: { background_color: '#ffffff', padding: '10px 20px' },
    },
    { type: 'text', props: { html: '<p>Hello {{ contact.first_name }}</p>' }, styles: { align: 'left' } },
    {
      type: 'columns',
      props: {
        columns: [
          { sections: [{ type: 'image', props: { src: 'https://acme.test/a.png', alt: 'A' } }] },
          { sections: [{ type: 'button', props: { label: 'Go', href: 'https://acme.test/{{ page }}' } }] },
        ],
      },
    },
    { type: 'spacer', props: { height: 20 } },
    { type: 'footer', props: { html: '<p>Acme</p>' } },
  ],
  theme: { brand_color: '#ff0000' },
};

/** Inserts a campaign of the brand, and makes a template its content. */
async function giveToCampaign(templateId: number, status: string): Promise<number> {
  const { rows } = await pool().query<{ id: number }>(
    `insert into campaigns (account_id, brand_id, name, status, template_id) values ($1, $2, 'Spring', $3, $4)
     returning id`,
    [api.accountId, api.brandId, status, templateId],
  );
  const id = rows[0]?.id ?? 0;
  await pool().query('update templates set campaign_id = $2 where id = $1', [templateId, id]);
  return id;
}

describe('POST /templates', () => {
  it('needs an API key', async () => {
    expect((await api.request('POST', PATH, { token: null, body: {} })).status).toBe(401);
  });

  const wrong: [string, unknown, string][] = [
    ['a name of two lines', { name: 'a\nb' }, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a subject of two lines', { subject: 'a\r\nBcc: b@c.test' }, 'subject'],
    ['a subject that is too long', { subject: 'a'.repeat(999) }, 'subject'],
    ['a preheader of two lines', { preheader: 'a\nb' }, 'preheader'],
    ['a body of more than 512 KB', { body: 'ü'.repeat(256 * 1024 + 1) }, 'body'],
    ['a sender that is no address', { from_email: 'ada' }, 'from_email'],
    ['a sender with a name', { from_email: 'Ada <ada@acme.test>' }, 'from_email'],
    ['a reply address that is none', { reply_to: 'a@b@c' }, 'reply_to'],
    ['an unknown channel', { channel: 'pigeon' }, 'channel'],
    ['variables that are no object', { variables: [] }, 'variables'],
    ['samples of more than 64 KB', { variables: { a: 'x'.repeat(64 * 1024) } }, 'variables'],
    ['an SMS with a subject', { channel: 'sms', body: 'Hi', subject: 'Hi' }, 'subject'],
    ['an SMS with a design', { channel: 'sms', design }, 'design'],
    ['a design that is no object', { design: [] }, 'design'],
    [
      'an unknown section',
      { design: { sections: [{ type: 'video', props: {} }] } },
      'design.sections.0.type',
    ],
    [
      'an unknown property',
      { design: { sections: [{ type: 'text', props: { html: 'a', htlm: 'b' } }] } },
      'design.sections.0.props.htlm',
    ],
    [
      'a color that leaves its style',
      { design: { sections: [{ type: 'divider', styles: { background_color: 'red;x' } }] } },
      'design.sections.0.styles.background_color',
    ],
    [
      'an unknown alignment',
      { design: { sections: [{ type: 'divider', styles: { align: 'justify' } }] } },
      'design.sections.0.styles.align',
    ],
    [
      'one column',
      { design: { sections: [{ type: 'columns', props: { columns: [{ sections: [] }] } }] } },
      'design.sections.0.props.columns',
    ],
    [
      'columns in columns',
      {
        design: {
          sections: [
            {
              type: 'columns',
              props: {
                columns: [
                  {
                    sections: [{ type: 'columns', props: { columns: [{ sections: [] }, { sections: [] }] } }],
                  },
                  { sections: [] },
                ],
              },
            },
          ],
        },
      },
      'design.sections.0.props.columns.0.sections.0.type',
    ],
    [
      'more than 100 sections',
      { design: { sections: Array.from({ length: 101 }, () => ({ type: 'divider' })) } },
      'design.sections',
    ],
    [
      'a link that runs a script',
      { design: { sections: [{ type: 'button', props: { label: 'a', href: 'javascript:alert(1)' } }] } },
      'design.sections.0.props.href',
    ],
    [
      'an image that is no web address',
      { design: { sections: [{ type: 'image', props: { src: 'file:///etc/passwd' } }] } },
      'design.sections.0.props.src',
    ],
    [
      'an unknown color of the theme',
      { design: { sections: [], theme: { color: '#ffffff' } } },
      'design.theme.color',
    ],
  ];

  it.each(wrong)('refuses %s', async (_rule, body, field) => {
    const { status, body: answer } = await create(body);
    expect(status).toBe(422);
    expect(Object.keys(answer.validation_errors ?? {})).toEqual([field]);
    expect((await api.request('GET', PATH)).list).toEqual([]);
  });

  it('suggests the nearest name of an unknown field', async () => {
    const { body } = await create({ preheder: 'a', design: { sections: [{ type: 'text', prosp: {} }] } });
    expect(body.validation_errors).toMatchObject({
      preheder: ['is not a known field; did you mean preheader?'],
    });
  });

  it.each([
    ['a body', { subject: 'Hi', body: 'Hello\n\n{{ name }' }, 'body'],
    ['a subject', { subject: 'Hi {{ name', body: 'Hello' }, 'subject'],
    ['a preheader', { preheader: '{% if a %}', body: 'Hello' }, 'preheader'],
    [
      'MJML',
      { subject: 'Hi', body: '<mjml><mj-body>\n<mj-text>{{ a | nothing }}</mj-text></mj-body></mjml>' },
      'body',
    ],
  ])('reports the line of a mistake in %s', async (_part, body, field) => {
    const { status, body: answer } = await create(body);
    expect([status, answer.code]).toEqual([422, 'validation_error']);
    const errors = answer.validation_errors as unknown as Record<string, string[]>;
    expect(Object.keys(errors)).toEqual([field]);
    expect(errors[field]?.[0]).toMatch(/line \d/);
  });

  it('reports the path of a mistake in a design', async () => {
    const { body } = await create({
      subject: 'Hi',
      design: { sections: [{ type: 'divider' }, { type: 'text', props: { html: '{% if a %}' } }] },
    });
    expect(Object.keys(body.validation_errors ?? {})).toEqual(['design.sections.1.props.html']);
  });

  it('creates a template without content', async () => {
    const { status, body } = await create();
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(Number),
      revision: 1,
      channel: 'email',
      campaign_id: null,
      flow_id: null,
      action_id: null,
      name: null,
      subject: null,
      body: null,
      preheader: null,
      from_name: null,
      from_email: null,
      reply_to: null,
      content_from: 'body',
      design: null,
      variables: {},
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
  });

  it('keeps every field, and finds the variables', async () => {
    const { status, body } = await create({ ...content, variables: { coupon: 'SPRING', unused: 1 } });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      ...content,
      content_from: 'body',
      variables: { coupon: 'SPRING', 'contact.first_name': null, unused: 1 },
    });
    expect((await get(body.id)).body).toEqual(body);
  });

  it('stores a design unchanged', async () => {
    const { status, body } = await create({ subject: 'Hi', design });
    expect(status).toBe(201);
    expect(body).toMatchObject({ design, content_from: 'design', variables: { page: null } });
  });

  it('creates one template for the same key', async () => {
    const headers = { 'Idempotency-Key': 'k1' };
    const first = await create(content, headers);
    const again = await create(content, headers);
    expect(again.body).toEqual(first.body);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect((await create({ name: 'Other' }, headers)).status).toBe(409);
    expect((await api.request('GET', PATH)).list).toHaveLength(1);
  });
});

describe('GET /templates', () => {
  it('gives templates that can be sent back without losing their designs', async () => {
    const { body } = await create({ name: 'back and forth', design, subject: 'Hi' });
    const { list } = await api.request('GET', `${PATH}?name=back%20and%20forth`);
    const path = `${PATH}/${String(body.id)}`;
    const changed = await api.request('PATCH', path, { body: { ...list[0], subject: 'Hello' } });
    expect([changed.status, changed.body]).toEqual([
      200,
      expect.objectContaining({ subject: 'Hello', design: body.design, content_from: 'design' }),
    ]);
    const cleared = await api.request('PATCH', path, { body: { design: null } });
    expect([cleared.status, cleared.body.design]).toEqual([200, null]);
    await api.request('DELETE', path);
  });

  it('lists the newest first, without designs and without those of campaigns', async () => {
    const first = await create({ name: 'first', design, subject: 'Hi' });
    const second = await create({ name: 'second' });
    const owned = await create({ name: 'owned' });
    const campaignId = await giveToCampaign(Number(owned.body.id), 'draft');
    const { list, headers } = await api.request('GET', PATH);
    expect(list.map(({ name }) => name)).toEqual(['second', 'first']);
    expect(list[1]).toHaveProperty('design', null);
    expect(headers.get('x-total-count')).toBe('2');
    const names = async (query: string) =>
      (await api.request('GET', `${PATH}?${query}`)).list.map(({ name }) => name);
    expect(await names('owner=all')).toEqual(['owned', 'second', 'first']);
    expect(await names(`campaign_id=${campaignId}`)).toEqual(['owned']);
    expect(await names('name=second')).toEqual(['second']);
    expect(await names('channel=sms')).toEqual([]);
    expect(await names('limit=1&page=2')).toEqual(['first']);
    expect(await names(`after=${Number(second.body.id)}`)).toEqual(['first']);
    expect(await names(`created_after=${encodeURIComponent(String(first.body.created_at))}`)).toContain(
      'second',
    );
    expect(await names('created_before=2020-01-01T00:00:00Z')).toEqual([]);
  });

  it.each(['owner=mine', 'page=0', 'channel=fax', 'campaign_id=x', 'nmae=a'])('refuses %s', async (query) => {
    expect((await api.request('GET', `${PATH}?${query}`)).status).toBe(422);
  });

  it('has complete pages, however large the bodies are, and leaves bodies out of summaries', async () => {
    const body = `<p>${'a'.repeat(500_000)}</p>`;
    await pool().query(
      `insert into templates (account_id, brand_id, body) select $1, $2, $3 from generate_series(1, 30)`,
      [api.accountId, api.brandId, body],
    );
    const whole = await api.request('GET', `${PATH}?limit=29`);
    expect(whole.list).toHaveLength(29);
    expect(whole.list.every((template) => String(template.body) === body)).toBe(true);
    const summary = await api.request('GET', `${PATH}?limit=29&summary=true`);
    expect(summary.list).toEqual(whole.list.map(({ body: _, ...others }) => others));
    expect(summary.headers.get('link')).toContain('summary=true&after=');
    const ids = whole.list.map(({ id }) => Number(id));
    const second = await api.request('GET', `${PATH}?limit=29&page=2`);
    expect(second.list.map(({ id }) => Number(id))).toEqual([Math.min(...ids) - 1]);
    const notes = [whole, second].map(({ headers }) => headers.get('x-total-pages'));
    expect(notes).toEqual(['2', '2']);
  });
});

describe('PATCH /templates/{id}', () => {
  it('changes only the given fields, and clears them with null', async () => {
    const { body: made } = await create(content);
    const { status, body } = await patch(made.id, { subject: 'New', reply_to: null });
    expect(status).toBe(200);
    expect(body).toEqual({
      ...made,
      revision: Number(made.revision) + 1,
      subject: 'New',
      reply_to: null,
      variables: { coupon: null, 'contact.first_name': null },
      updated_at: body.updated_at,
    });
  });

  it('accepts a template as the API returned it', async () => {
    const { body: made } = await create({ ...content, design });
    const { status, body } = await patch(made.id, { ...made, name: 'Renamed' });
    expect(status).toBe(200);
    const { updated_at } = body;
    expect(body).toEqual({ ...made, name: 'Renamed', revision: Number(made.revision) + 1, updated_at });
  });

  it('accepts a template as the API returned it, however many variables it has', async () => {
    const names = Array.from({ length: 300 }, (_, n) => `v${n}`);
    const samples = Object.fromEntries(names.slice(0, 150).map((name) => [`${name}x`, 'sample']));
    const long = 'n'.repeat(250);
    const body = [long, ...names].map((name) => `{{ ${name} }}`).join(' ');
    const created = await create({ subject: 'Hi', body, variables: samples });
    expect(Object.keys(created.body.variables as object)).toHaveLength(200);
    const { status, body: after } = await patch(created.body.id, created.body);
    expect([status, after.variables]).toEqual([200, created.body.variables]);
  });

  it('sends the one of body and design that was set last', async () => {
    const { body: made } = await create(content);
    const from = async (body: unknown) => (await patch(made.id, body)).body.content_from;
    expect(await from({ design })).toBe('design');
    expect(await from({ name: 'Other' })).toBe('design');
    expect(await from({ body: 'New text' })).toBe('body');
    const { body: received } = await get(made.id);
    expect(await from({ ...received, design: { sections: [] } })).toBe('design');
    expect(await from({ design: null })).toBe('body');
  });

  it.each([
    ['a mistake', { body: '{% for %}' }, 'body'],
    ['an unknown field', { boddy: 'a' }, 'boddy'],
  ])('changes nothing after %s', async (_rule, change, field) => {
    const { body: made } = await create(content);
    const { status, body } = await patch(made.id, change);
    expect(status).toBe(422);
    expect(Object.keys(body.validation_errors ?? {})).toEqual([field]);
    expect((await get(made.id)).body).toEqual(made);
  });

  it('keeps both of two changes at once', async () => {
    const { body: made } = await create(content);
    const [one, other] = await Promise.all([
      patch(made.id, { subject: 'One' }),
      patch(made.id, { preheader: 'Other' }),
    ]);
    expect([one.status, other.status]).toEqual([200, 200]);
    expect((await get(made.id)).body).toMatchObject({ subject: 'One', preheader: 'Other' });
  });

  it('changes the content of a campaign that is not sent yet', async () => {
    const { body: made } = await create(content);
    await giveToCampaign(Number(made.id), 'draft');
    expect((await patch(made.id, { subject: 'New' })).status).toBe(200);
  });

  it.each(['active', 'paused', 'completed'])(
    'refuses to change the content of a campaign that is %s, but not its name',
    async (status) => {
      const { body: made } = await create(content);
      await giveToCampaign(Number(made.id), status);
      const refused = await patch(made.id, { subject: 'New' });
      expect([refused.status, refused.body.code]).toEqual([422, 'invalid_transition']);
      expect((await patch(made.id, { name: 'New' })).status).toBe(200);
      expect((await get(made.id)).body).toMatchObject({ subject: content.subject, name: 'New' });
    },
  );
});

describe('DELETE /templates/{id}', () => {
  it('deletes a template', async () => {
    const { body: made } = await create(content);
    const { status, body } = await api.request('DELETE', `${PATH}/${Number(made.id)}`);
    expect([status, body]).toEqual([200, made]);
    expect((await get(made.id)).status).toBe(404);
    expect((await patch(made.id, { name: 'a' })).status).toBe(404);
    expect((await api.request('GET', `${PATH}?owner=all`)).list).toEqual([]);
  });

  it('refuses to delete the content of a campaign', async () => {
    const { body: made } = await create(content);
    const campaignId = await giveToCampaign(Number(made.id), 'draft');
    const { status, body } = await api.request('DELETE', `${PATH}/${Number(made.id)}`);
    expect([status, body.code]).toEqual([409, 'conflict']);
    expect(body.message).toContain(`campaign ${campaignId}`);
  });
});

describe('POST /templates/{id}/duplicate', () => {
  const duplicate = (id: unknown, body?: unknown) =>
    api.request('POST', `${PATH}/${Number(id)}/duplicate`, body === undefined ? {} : { body });

  it('copies a template of a campaign to one of the brand', async () => {
    const { body: made } = await create({ ...content, design });
    await giveToCampaign(Number(made.id), 'active');
    const { status, body } = await duplicate(made.id);
    expect(status).toBe(201);
    expect(body).toEqual({
      ...made,
      id: body.id,
      name: 'Copy of Welcome',
      created_at: body.created_at,
      updated_at: body.updated_at,
    });
    expect(body.id).not.toBe(made.id);
  });

  it('accepts a name for the copy', async () => {
    const { body: made } = await create(content);
    expect((await duplicate(made.id, { name: 'Second' })).body.name).toBe('Second');
    expect((await duplicate(made.id, { nmae: 'Second' })).status).toBe(422);
  });
});
