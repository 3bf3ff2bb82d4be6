// A message about a field continues its name, so that both read as a sentence.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';

const root = join(import.meta.dirname, '../../..');

/** How a message may begin. `or` and `with` follow the first of two fields: `email or phone is required`. */
const BEGINNINGS =
  /^(?:must|is|are|has|have|needs?|names?|cannot|contains|takes|selects|exceeds|belongs|leads|differs|contradicts|renders|makes?|can|does|would|or|with)\b/;

/** Where the code writes a message as text: `invalid({ field: ['…'] })` and the like. A message may begin with `${`. */
const PLACES = [
  /\b(?:invalid|add)\(\{\s*[^{}]*?(?:\{[^{}]*\}[^{}]*?)*?: \[\s*(['`])(.*?)\1/gs,
  /\berrors(?:\.\w+|\[[^\n]*?\]) = \[\s*(['`])(.*?)\1/gs,
  /\baddIssue\(\{[^}]*?\bmessage: (['`])(.*?)\1/gs,
  /\breport\((?:\[[^\]]*\]|[^()[\]]*?), (['`])(.*?)\1/gs,
];

function messagesIn(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8');
  return PLACES.flatMap((place) => [...text.matchAll(place)].map(([, , message]) => message ?? ''));
}

describe('messages about fields', () => {
  let api: TestApi;

  beforeAll(async () => {
    api = await startTestApi();
  });
  afterAll(() => api.close());

  async function messageOf(method: string, path: string, body: unknown): Promise<unknown> {
    const answer = await api.request(method, path, { body });
    expect(answer.status).toBe(422);
    return answer.body.message;
  }

  it('continue the name of the field wherever the code writes them', () => {
    const messages = globSync('src/**/*.ts', { cwd: root }).flatMap(messagesIn);
    expect(messages.length).toBeGreaterThan(150);
    const others = messages.filter((message) => !BEGINNINGS.test(message) && !message.startsWith('${'));
    expect(others).toEqual([]);
  });

  it('say which content is missing, and of which channel a template is', async () => {
    const campaign = await api.request('POST', '/v1/my/campaigns', {
      body: { name: 'Empty', channel: 'sms' },
    });
    const sent = await api.request('POST', `/v1/my/campaigns/${Number(campaign.body.id)}/send`, { body: {} });
    expect(sent.body.validation_errors).toMatchObject({
      'template_attributes.body': ['has no content'],
    });
    const template = await api.request('POST', '/v1/my/templates', { body: { subject: 'Hi', body: 'Hi' } });
    const given = { template_attributes: { template_id: Number(template.body.id) } };
    expect(await messageOf('PATCH', `/v1/my/campaigns/${Number(campaign.body.id)}`, given)).toBe(
      'template_attributes.template_id names a template for email instead of sms',
    );
  });

  it('say that Liquid has a mistake, and where', async () => {
    const template = { subject: 'Hi', body: 'Hi {{ name' };
    expect(await messageOf('POST', '/v1/my/templates', template)).toBe(
      'body cannot be used: line 1: output "{{ name" not closed',
    );
  });

  it('say what a time needs', async () => {
    const words = 'must be an ISO 8601 date-time with seconds and a zone, such as 2026-03-01T10:00:00Z';
    const times = [
      '2026-03-01T10:00Z',
      '2026-03-01T10:00:00',
      '2026-03-01',
      '2026-03-01 10:00:00Z',
      'tomorrow',
    ];
    for (const scheduled_at of times) {
      const campaign = { name: 'Sale', scheduled_at };
      expect(await messageOf('POST', '/v1/my/campaigns', campaign)).toBe(`scheduled_at ${words}`);
    }
  });

  it('list what a field may be that decides about the others', async () => {
    const types = 'header, text, image, button, divider, spacer, social, html, footer, columns';
    const at = (sections: unknown) => ({ subject: 'Hi', design: { sections } });
    const templates = '/v1/my/templates';
    expect(await messageOf('POST', templates, at([{ type: 'hero' }]))).toBe(
      `design.sections.0.type must be one of ${types}`,
    );
    expect(await messageOf('POST', templates, at([{ props: {} }]))).toBe(
      `design.sections.0.type is required: one of ${types}`,
    );
    const inner = [
      { type: 'columns', props: { columns: [{ sections: [{ type: 'columns' }] }, { sections: [] }] } },
    ];
    expect(await messageOf('POST', templates, at(inner))).toBe(
      `design.sections.0.props.columns.0.sections.0.type must be one of ${types.replace(', columns', '')}`,
    );
    expect(await messageOf('POST', '/v1/my/messages', { channel: 'fax', to: 'ada@example.com' })).toBe(
      'channel must be one of email, sms',
    );
  });

  it('say in words what the name of an event is', async () => {
    const words = 'must have 1 to 64 lower-case letters, digits and underscores, and begin with a letter';
    expect(await messageOf('POST', '/v1/my/events', { event: 'Order placed', contact_id: 1 })).toBe(
      `event ${words}, such as order_placed`,
    );
    const answer = await api.request('GET', '/v1/my/events?event=Order');
    expect(answer.body.message).toBe(`event ${words}, such as order_placed`);
  });

  it('never show a regular expression of a request', async () => {
    const { body } = await api.request('GET', '/v1/my/campaigns/1/recipients?reason=No%20way');
    expect(body.message).toBe('reason must be a code such as unsubscribed');
    const exit = { name: 'a', steps: [{ type: 'exit', reason: 'No way' }] };
    expect(await messageOf('POST', '/v1/my/flows', exit)).toMatch(
      /^steps\[0\].reason must have 1 to 64 lower-case/,
    );
  });

  it('say where a body is not JSON', async () => {
    const rawBody = '{"name": "VIP",\n "description": "Of the shop",}';
    const answer = await api.request('POST', '/v1/my/lists', {
      rawBody,
      headers: { 'Content-Type': 'application/json' },
    });
    expect([answer.status, answer.body.code, answer.body.message]).toEqual([
      400,
      'malformed_json',
      'the body is not valid JSON: line 2, column 31 (position 46): "}" is unexpected; a name in double quotes is missing',
    ]);
  });

  it('say what the limit of requests is, and how long to wait', async () => {
    const answers = await Promise.all(
      Array.from({ length: 80 }, () =>
        api.request('POST', '/oauth/revoke', { token: null, rawBody: 'token=x' }),
      ),
    );
    const refused = answers.find(({ status }) => status === 429);
    const seconds = Number(refused?.headers.get('retry-after'));
    expect(refused?.body.message ?? refused?.body.error_description).toBe(
      `too many requests: at most 60 a minute; try again in ${seconds} s`,
    );
  });

  it('say what a name must not have', async () => {
    expect(await messageOf('PUT', '/v1/my/brand', { default_theme: { 'a\u0000': 1 } })).toBe(
      'default_theme."a\\u0000" must not have the character NUL in its name',
    );
  });
});
