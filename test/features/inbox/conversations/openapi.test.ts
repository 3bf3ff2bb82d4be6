// The responses of the routes of conversations match the API's description, and have no other field.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startTestApi, type TestApi } from '../../../support/api.ts';
import {
  insertAttachment,
  insertConversation,
  insertConversationMessage,
  insertQuarantined,
} from '../../../support/conversations.ts';
import { insertVerifiedDomain } from '../../../support/domains.ts';
import { eventually } from '../../../support/eventually.ts';
import { insertInbox } from '../../../support/inboxes.ts';
import { createAnswerCheck, type OpenApi } from '../../../support/openapi.ts';

let api: TestApi;
let document: OpenApi;
beforeAll(async () => {
  api = await startTestApi();
  document = (await api.request<OpenApi>('GET', '/openapi.json', { token: null })).body;
  const inbox_id = await insertInbox(api.database, api, 'support@asked.test');
  const conversation_id = await insertConversation(api, api, { inbox_id });
  const id = await insertConversationMessage(api, api, { inbox_id, conversation_id, html: '<p>Hi</p>' });
  await insertAttachment(api, api, { conversation_message_id: id });
  await insertQuarantined(api, api, { inbox_id });
  await insertQuarantined(api, api, { inbox_id });
});
afterAll(() => api.close());

describe('a response', () => {
  const asked: [status: number, method: string, path: string, template: string, body: unknown][] = [
    [200, 'GET', '', '', undefined],
    [200, 'GET', '/1', '/{id}', undefined],
    [200, 'PATCH', '/1', '/{id}', { status: 'closed' }],
    [200, 'POST', '/1/read', '/{id}/read', undefined],
    [200, 'POST', '/1/unread', '/{id}/unread', undefined],
    [200, 'GET', '/1/messages', '/{conversation_id}/messages', undefined],
    [200, 'GET', '/1/messages/1', '/{conversation_id}/messages/{id}', undefined],
    [422, 'POST', '/1/reply', '/{id}/reply', { text: 'Hello' }],
    [422, 'POST', '/1/reply', '/{id}/reply', {}],
    [404, 'GET', '/1/messages/999', '/{conversation_id}/messages/{id}', undefined],
  ];

  it.each(asked)(
    'with status %d to %s /conversations%s matches',
    async (status, method, path, template, body) => {
      const problemsOf = createAnswerCheck(document);
      const response = await api.request<unknown>(method, `/v1/my/conversations${path}`, { body });
      expect([response.status, response.text !== '']).toEqual([status, true]);
      const described = `/v1/my/conversations${template}`;
      expect(problemsOf(described, method.toLowerCase(), response.status, response.body)).toEqual([]);
    },
  );

  it.each([
    ['GET', '', ''],
    ['POST', '/2/release', '/{conversation_message_id}/release'],
    ['DELETE', '/3', '/{conversation_message_id}'],
  ])('to %s /inbox_quarantine%s matches', async (method, path, template) => {
    const problemsOf = createAnswerCheck(document);
    const response = await api.request<unknown>(method, `/v1/my/inbox_quarantine${path}`);
    expect(response.status).toBe(200);
    const described = `/v1/my/inbox_quarantine${template}`;
    expect(problemsOf(described, method.toLowerCase(), response.status, response.body)).toEqual([]);
  });

  it('to an answer matches', async () => {
    await insertVerifiedDomain(api.database, api, 'asked.test');
    const body = { html: '<p>Hello</p>' };
    // The sender was unverified a moment ago, and is known for a second.
    const response = await eventually(async () => {
      const answer = await api.request<unknown>('POST', '/v1/my/conversations/1/reply', { body });
      expect(answer.status).toBe(201);
      return answer;
    });
    const problemsOf = createAnswerCheck(document);
    expect(problemsOf('/v1/my/conversations/{id}/reply', 'post', 201, response.body)).toEqual([]);
  });
});
