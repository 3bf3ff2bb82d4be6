// Liquid in a field that is not rendered is refused by name, wherever a client can write it.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

const NAME = '{{ contact.owner }}';
const ADDRESS = '{{owner}}@acme.com';
const email = { name: 'A', subject: 'Hi {{ contact.first_name }}', body: '<p>{{ contact.email }}</p>' };
const filters = [{ name: 'data.plan', predicate: 'in', value: ['pro', '{% if x %}'] }];

it.each<[method: string, path: string, body: object, fields: string[]]>([
  ['POST', 'templates', { ...email, from_name: NAME, reply_to: ADDRESS }, ['from_name', 'reply_to']],
  [
    'POST',
    'campaigns',
    {
      name: 'A',
      channel: 'email',
      template_attributes: { ...email, name: undefined, from_name: NAME, from_email: ADDRESS },
      data: { options: { utm: { campaign: '{{ campaign.name }}' } } },
    },
    ['data.options.utm.campaign', 'template_attributes.from_email', 'template_attributes.from_name'],
  ],
  [
    'PATCH',
    'account',
    { email_from_name: NAME, email_reply_to: ADDRESS },
    ['email_from_name', 'email_reply_to'],
  ],
  [
    'POST',
    'messages',
    {
      channel: 'email',
      to: 'a@b.test',
      subject: 'x',
      body: 'x',
      from: `"${NAME}" <a@acme.com>`,
      reply_to: ADDRESS,
    },
    ['from', 'reply_to'],
  ],
  ['POST', 'segments', { name: 'A', filters }, ['filters.0.value.1']],
  ['POST', 'segments/preview', { filters }, ['filters.0.value.1']],
])('%s /%s', async (method, path, body, fields) => {
  const response = await api.request(method, `/v1/my/${path}`, { body });
  expect([response.status, Object.keys(response.body.validation_errors as object).sort()]).toEqual([
    422,
    fields,
  ]);
  expect(Object.values(response.body.validation_errors as object).flat()).toEqual(
    fields.map(() => expect.stringContaining('must not contain Liquid: it is not rendered in')),
  );
});

it('is accepted where it is rendered', async () => {
  expect(await api.request('POST', '/v1/my/templates', { body: email })).toMatchObject({ status: 201 });
});
