// A preview shows a content at a short-lived URL, runs nothing, and records nothing: neither an opening nor an opt-out.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const PREVIEWS = '/v1/my/previews';
const content = {
  subject: 'Hi',
  footer: 'marketing',
  body: '<p onclick="x()">Hi {{ contact.first_name }}</p><script>x()</script><a href="{{ unsubscribe_url }}">Leave</a>',
};

async function previewOf(body: object): Promise<{ url: string; path: string }> {
  const answer = await api.request<{ url: string }>('POST', PREVIEWS, { body });
  if (answer.status !== 201) throw new Error(answer.text);
  return { url: answer.body.url, path: new URL(answer.body.url).pathname };
}

const open = (path: string) => api.request('GET', path, { token: null });

/** The number of rows of each table that an opening or an opt-out would change. */
async function recorded(): Promise<unknown> {
  const { rows } = await api.database.pool.query(
    `select (select count(*) from message_events) as events, (select count(*) from suppressions) as suppressions,
       (select count(*) from contacts where email_subscribed) as subscribed,
       (select count(*) from messages where opened_at is not null or clicked_at is not null) as opened`,
  );
  return rows[0];
}

describe('a preview', () => {
  it('shows a content that is not saved, and runs nothing of it', async () => {
    const { path } = await previewOf({ content });
    const { status, text, headers } = await open(path);
    expect([status, text.includes('Hi Ada'), /script|onclick/.test(text)]).toEqual([200, true, false]);
    expect(headers.get('content-security-policy')).toMatch(
      /^sandbox; default-src 'none'; img-src https: data:/,
    );
    expect([headers.get('referrer-policy'), headers.get('cache-control')]).toEqual([
      'no-referrer',
      'no-store',
    ]);
    expect(headers.get('set-cookie')).toBeNull();
  });

  it.each([
    ['https://carillon.test', 'img-src https: data:;'],
    // As on a laptop: uploads have no https there.
    ['http://localhost:3000/', 'img-src https: data: http://localhost:3000;'],
  ])('loads images of the service itself at %s, otherwise over https only', async (url, directive) => {
    const other = await startTestApi({ env: { PUBLIC_URL: url } });
    try {
      const { body } = await other.request<{ url: string }>('POST', PREVIEWS, { body: { content } });
      const { pathname } = new URL(body.url);
      const { headers } = await other.request('GET', pathname, { token: null });
      expect(headers.get('content-security-policy')).toContain(directive);
    } finally {
      await other.close();
    }
  });

  it('inverts the colors but not the images of a dark one', async () => {
    const { text } = await open((await previewOf({ content, dark: true })).path);
    expect(text).toMatch(/^<!doctype html><style>[^<]*body,img\{filter:invert\(1\)/);
    const light = await open((await previewOf({ content, dark: false })).path);
    expect(light.text).not.toContain('invert');
  });

  it('has links to unsubscribe that lead nowhere', async () => {
    const before = await recorded();
    const { text } = await open((await previewOf({ content })).path);
    expect(text).toContain('<a href="#">Leave</a>');
    expect(text).not.toMatch(/\/(unsubscribe|preferences)\//);
    expect(await recorded()).toEqual(before);
  });

  it('shows a template, a campaign and a message', async () => {
    const { body: template } = await api.request<{ id: number }>('POST', '/v1/my/templates', {
      body: { subject: 'Hi', body: '<p>From a template</p>' },
    });
    const { body: campaign } = await api.request<{ id: number }>('POST', '/v1/my/campaigns', {
      body: { name: 'Spring', channel: 'email', template_attributes: { template_id: template.id } },
    });
    const { rows } = await api.database.pool.query<{ id: number }>(
      `with made as (insert into messages (account_id, brand_id, channel, class, status, test, to_address, to_key)
         values ($1, $2, 'email', 0, 'sent', false, 'ada@example.com', 'ada@example.com') returning id)
       insert into message_contents (message_id, html)
       select id, '<a href="https://links.example.com/unsubscribe/abc">From a message</a>' from made returning message_id as id`,
      [api.accountId, api.brandId],
    );
    const shown = [];
    for (const body of [
      { template_id: template.id },
      { campaign_id: campaign.id },
      { message_id: rows[0]?.id },
    ]) {
      shown.push((await open((await previewOf(body)).path)).text);
    }
    expect(shown[0]).toContain('From a template');
    expect(shown[1]).toContain('From a template');
    expect(shown[2]).toContain('<a href="#">From a message</a>');
  });

  it('is gone after its time, and with another token', async () => {
    const { path } = await previewOf({ content });
    const forged = path.endsWith('A') ? `${path.slice(0, -2)}BB` : `${path.slice(0, -2)}AA`;
    expect((await open(forged)).status).toBe(404);
    await api.database.pool.query(`update previews set expires_at = now() - interval '1 second'`);
    expect((await open(path)).status).toBe(404);
    // The next preview of the brand removes it.
    await previewOf({ content });
    const { rows } = await api.database.pool.query('select count(*)::int as count from previews');
    expect(rows).toEqual([{ count: 1 }]);
  });

  it.each([
    [{}, 'template_id'],
    [{ template_id: 1, content }, 'content'],
    [{ flow_id: 1 }, 'step_id'],
    [{ message_id: 1, contact_id: 1 }, 'contact_id'],
    [{ content: { body: '{{ broken' } }, 'body'],
  ])('refuses %j', async (body, field) => {
    const answer = await api.request('POST', PREVIEWS, { body });
    expect([answer.status, Object.keys(answer.body.validation_errors ?? {})]).toEqual([422, [field]]);
  });

  it('does not show what another account has', async () => {
    const { body } = await api.request<{ id: number }>('POST', '/v1/my/templates', {
      body: { subject: 'Hi', body: 'Ours' },
    });
    for (const source of [{ template_id: body.id }, { campaign_id: 1 }, { message_id: 1 }]) {
      const answer = await api.request('POST', PREVIEWS, { body: source, token: api.other.apiKey });
      expect(answer.status).toBe(404);
    }
  });
});

describe('a content that is not saved', () => {
  const post = (path: string, body: object) => api.request(`POST`, `/v1/my/templates/${path}`, { body });

  it('is rendered for a contact, and nothing is stored', async () => {
    const contact = await api.request('POST', '/v1/my/contacts', {
      body: { email: 'grace@example.com', first_name: 'Grace' },
    });
    const before = await api.request('GET', '/v1/my/templates?owner=all');
    const { status, body } = await post('render', { ...content, contact_id: contact.body.id });
    expect(status).toBe(200);
    expect(String(body.html)).toContain('Hi Grace');
    expect((await api.request('GET', '/v1/my/templates?owner=all')).list).toEqual(before.list);
  });

  it('is checked as a send would', async () => {
    const { body } = await post('check', { footer: 'marketing', body: '<p>{{ coupon }}</p>' });
    expect(Object.keys(body.errors ?? {}).sort()).toEqual([
      'brand.physical_address',
      'subject',
      'unsubscribe_url',
    ]);
    expect(body.variables).toContain('coupon');
    expect(body.warnings).toEqual(
      expect.arrayContaining([expect.objectContaining({ code: 'unknown_variable' })]),
    );
    const broken = await post('check', { subject: 'Hi', body: '{{ broken' });
    expect(broken.body).toMatchObject({ errors: { body: [expect.any(String)] }, warnings: [] });
  });
});
