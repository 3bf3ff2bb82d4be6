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

  it('say what a name must not have', async () => {
    expect(await messageOf('PUT', '/v1/my/brand', { default_theme: { 'a\u0000': 1 } })).toBe(
      'default_theme."a\\u0000" must not have the character NUL in its name',
    );
  });
});
