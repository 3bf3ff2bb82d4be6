// Responses to signed-in users match the OpenAPI document.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { createAnswerCheck, type OpenApi } from '../../support/openapi.ts';

describe('responses to signed-in users', () => {
  let api: TestApi;
  let document: OpenApi;
  beforeAll(async () => {
    api = await startTestApi();
    document = (await api.request<OpenApi>('GET', '/openapi.json', { token: null })).body;
  });
  afterAll(() => api.close());

  const asked: [method: string, path: string, template: string, body: unknown][] = [
    ['POST', '/v1/my/api_keys', '/v1/my/api_keys', { name: 'shop' }],
    ['GET', '/v1/my/api_keys', '/v1/my/api_keys', undefined],
    ['PATCH', '/v1/my/api_keys/1', '/v1/my/api_keys/{id}', { name: 'shop' }],
    ['DELETE', '/v1/my/api_keys/999999999', '/v1/my/api_keys/{id}', undefined],
    ['GET', '/v1/my/user/second_factor', '/v1/my/user/second_factor', undefined],
    ['POST', '/v1/my/user/second_factor', '/v1/my/user/second_factor', undefined],
    ['POST', '/v1/my/user/second_factor/confirm', '/v1/my/user/second_factor/confirm', { otp: '12345' }],
    [
      'POST',
      '/v1/my/user/second_factor/recovery_codes',
      '/v1/my/user/second_factor/recovery_codes',
      undefined,
    ],
    ['DELETE', '/v1/my/user/second_factor', '/v1/my/user/second_factor', undefined],
    ['POST', '/v1/my/brands', '/v1/my/brands', { company_name: 'Second' }],
    ['GET', '/v1/my/audit', '/v1/my/audit', undefined],
    ['GET', '/v1/my/brands', '/v1/my/brands', undefined],
    ['GET', '/v1/my/mcp_calls', '/v1/my/mcp_calls', undefined],
    ['GET', '/v1/my/accounts', '/v1/my/accounts', undefined],
    ['GET', '/v1/my/session', '/v1/my/session', undefined],
    ['GET', '/v1/my/sessions', '/v1/my/sessions', undefined],
    ['POST', '/v1/my/session/confirm', '/v1/my/session/confirm', { password: 'wrong' }],
    ['DELETE', '/v1/my/sessions/999999999', '/v1/my/sessions/{id}', undefined],
    ['DELETE', '/v1/my/sessions', '/v1/my/sessions', undefined],
    ['DELETE', '/v1/my/session', '/v1/my/session', undefined],
  ];

  it.each(asked)(
    'to %s %s match the document and have no other field',
    async (method, path, template, body) => {
      const problemsOf = createAnswerCheck(document);
      const answer = await api.request<unknown>(method, path, { body, token: api.userJwt });
      expect(answer.text).not.toBe('');
      expect(problemsOf(template, method.toLowerCase(), answer.status, answer.body)).toEqual([]);
    },
  );
});
