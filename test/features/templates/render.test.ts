// A template renders only for contacts of its brand, and its check lists every problem.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { setPrice } from '../../support/money.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi({ env: { PUBLIC_URL: 'https://mail.acme.test' } });
});
afterAll(() => api.close());

const PATH = '/v1/my/templates';

async function create(body: unknown): Promise<number> {
  const made = await api.request('POST', PATH, { body });
  expect(made.body).toMatchObject({ id: expect.any(Number) });
  return Number(made.body.id);
}
const render = (id: number, body?: unknown, token = api.apiKey) =>
  api.request('POST', `${PATH}/${id}/render`, { token, ...(body === undefined ? {} : { body }) });

const content = {
  subject: 'Hello {{ contact.first_name }}',
  body: '<p>{{ contact.data.plan }} {{ coupon }} {{ order.total }}</p>',
  variables: { coupon: 'A&B', 'order.total': 5, 'contact.data.plan': 'pro' },
};

describe('POST /templates/{id}/render', () => {
  it('renders samples', async () => {
    const { status, body } = await render(await create(content));
    expect(status).toBe(200);
    expect(body).toMatchObject({ subject: 'Hello Ada' });
    const problems = body.problems as unknown as { code: string }[];
    expect(problems.map(({ code }) => code)).toEqual(['missing_unsubscribe_link']);
    expect(body.html).toContain('pro A&amp;B 5');
    expect(body.text).toContain('pro A&B 5');
  });

  it('prefers variables of the request to samples', async () => {
    const { body } = await render(await create(content), { variables: { coupon: 'C' } });
    expect(body.html).toContain('pro C 5');
  });

  it('renders without samples', async () => {
    const { body } = await render(await create(content), { sample: false });
    expect(body.text).not.toContain('5');
  });

  it('renders for a contact of the brand', async () => {
    const contact = { email: 'bo@example.com', first_name: 'Bo', data: { plan: 'free' } };
    const made = await api.request('POST', '/v1/my/contacts', { body: contact });
    const { body } = await render(await create(content), { contact_id: made.body.id });
    expect(body.subject).toBe('Hello Bo');
    expect(body.html).toContain('free A&amp;B 5');
  });

  it('refuses a contact of another brand', async () => {
    const made = await api.request('POST', '/v1/my/contacts', {
      token: api.other.apiKey,
      body: { email: 'x@example.com' },
    });
    const { status, body } = await render(await create(content), { contact_id: made.body.id });
    expect(status).toBe(422);
    expect(body.validation_errors).toHaveProperty('contact_id');
  });

  it.each([
    [{ variables: [] }, 'variables'],
    [{ variables: { a: 'x'.repeat(70_000) } }, 'variables'],
    [{ sample: 'yes' }, 'sample'],
    [{ contact: 1 }, 'contact'],
  ])('refuses %j', async (body, field) => {
    const answer = await render(await create(content), body);
    expect(answer.status).toBe(422);
    expect(answer.body.validation_errors).toHaveProperty(field);
  });

  it('reports why nothing can be sent', async () => {
    const { status, body } = await render(await create({ name: 'Empty' }));
    expect(status).toBe(200);
    expect(body).toMatchObject({ subject: null, html: null, text: null });
    expect(JSON.stringify(body.problems)).toContain('missing_content');
  });
});

describe('the size of a rendered SMS', () => {
  const sizeOf = async (body: unknown) => {
    const { body: rendered } = await api.request('POST', `${PATH}/render`, { body });
    return rendered.sms;
  };

  it('is that of the text with its values, and names what a campaign reserves', async () => {
    const body = 'Hi {{ contact.first_name }}';
    expect(await sizeOf({ channel: 'sms', body })).toEqual({
      encoding: 'gsm7',
      units: 'Hi Ada'.length,
      segments: 1,
      wide_characters: [],
      reserved_segments: 10,
      segment_price_cents: 0,
    });
    expect(await sizeOf({ channel: 'sms', body: 'я'.repeat(70) + '€“' })).toMatchObject({
      encoding: 'ucs2',
      segments: 2,
      wide_characters: ['я', '“'],
      reserved_segments: 2,
    });
    const saved = await create({ channel: 'sms', body: 'x'.repeat(161) });
    expect((await render(saved)).body.sms).toMatchObject({ units: 161, segments: 2 });
  });

  it('has the price in the country of the contact, or the highest price', async () => {
    const { rows } = await api.database.pool.query<{ tier: string }>(
      'select tier from accounts where id = $1',
      [api.accountId],
    );
    const tier = rows[0]?.tier ?? '';
    await setPrice(api.database, 7_500, { tier, country: 'DE' });
    await setPrice(api.database, 9_000, { tier, country: 'NL' });
    const priceFor = async (phone: string) => {
      const made = await api.request('POST', '/v1/my/contacts', { body: { phone } });
      return sizeOf({ channel: 'sms', body: 'Hi', contact_id: made.body.id });
    };
    expect(await sizeOf({ channel: 'sms', body: 'Hi' })).toMatchObject({ segment_price_cents: 9 });
    expect(await priceFor('+4915112345678')).toMatchObject({ segment_price_cents: 7.5 });
    expect(await priceFor('+33612345678')).toMatchObject({ segment_price_cents: null });
    await api.database.pool.query('update accounts set comped = true where id = $1', [api.accountId]);
    expect(await priceFor('+33612345679')).toMatchObject({ segment_price_cents: 0 });
    await api.database.pool.query('update accounts set comped = false where id = $1', [api.accountId]);
  });

  it('is null for an email, and for a text that cannot be rendered', async () => {
    expect(await sizeOf({ subject: 'Hi', body: 'Hello' })).toBeNull();
    expect(await sizeOf({ channel: 'sms', body: '' })).toBeNull();
  });
});

describe('GET /templates/{id}/check', () => {
  const check = (id: number) => api.request('GET', `${PATH}/${id}/check`);

  it('lists variables without a value, bad links and images without alternative text', async () => {
    const id = await create({
      subject: 'Hi',
      body: '<p>{{ coupon }} {{ known }}</p><a href="ftp://x">x</a><img src="https://example.com/a.png">',
      variables: { known: 1 },
    });
    const { status, body } = await check(id);
    expect(status).toBe(200);
    const problems = body.problems as unknown as { code: string; message: string; severity: string }[];
    expect(new Set(problems.map(({ severity }) => severity))).toEqual(new Set(['warning']));
    expect(problems.map(({ code }) => code).sort()).toEqual([
      'broken_link',
      'missing_alt',
      'missing_unsubscribe_link',
      'unknown_variable',
    ]);
    expect(problems.find(({ code }) => code === 'unknown_variable')?.message).toContain('coupon');
  });

  it('lists what would be refused, too', async () => {
    const id = await create({ subject: 'Hi', body: '' });
    const { body } = await check(id);
    const problems = body.problems as unknown as { field: string; severity: string }[];
    expect(problems[0]).toMatchObject({ field: 'body', severity: 'error' });
    expect(new Set(problems.map(({ field }) => field)).size).toBe(problems.length);
  });

  it('returns an empty array for a template without problems', async () => {
    expect((await check(await create({ channel: 'sms', body: 'Hello' }))).body).toEqual({ problems: [] });
  });
});

describe('GET /templates/{id}/preview', () => {
  const preview = (id: number) => api.request('GET', `${PATH}/${id}/preview`);

  it('is a page without scripts and with its own origin', async () => {
    const id = await create({
      subject: 'Hi',
      body: '<p onclick="a()">Hello {{ name }}</p><iframe src="https://a.test"></iframe>',
      variables: { name: '<script>alert(1)</script>' },
    });
    const { status, headers, text } = await preview(id);
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^sandbox allow-popups/);
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/script/);
    expect(text).toContain('Hello &lt;script&gt;');
    expect(text).not.toMatch(/<script|onclick|<iframe/);
  });

  it('shows an SMS as text', async () => {
    const { text } = await preview(await create({ channel: 'sms', body: 'Hi <b>' }));
    expect(text).toContain('Hi &lt;b&gt;');
  });

  it('is a 422 if the template cannot be rendered', async () => {
    const { status, headers } = await preview(await create({ name: 'Empty' }));
    expect(status).toBe(422);
    expect(headers.get('content-type')).toMatch(/json/);
  });
});
