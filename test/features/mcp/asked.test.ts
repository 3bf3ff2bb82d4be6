// Over HTTP: what destroys waits for the user, and resources and prompts are those of the access that asks for them.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { McpScope } from '../../../src/platform/auth/grant-caller.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { insertGrant } from '../../support/grants.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});
afterAll(() => api.close());

interface ClientOptions {
  era?: 'legacy' | { pin: string };
  /** Whether the user agrees. Without it, the client cannot ask. */
  agrees?: boolean;
  scopes?: McpScope[];
}

const eras: ['legacy' | { pin: string }][] = [['legacy'], [{ pin: '2026-07-28' }]];

async function connect({ era = { pin: '2026-07-28' }, agrees, scopes }: ClientOptions = {}) {
  const { accountId, brandId, userId, baseUrl } = api;
  const { accessToken } = await insertGrant(api.database.pool, {
    baseUrl,
    userId,
    choices: [{ accountId, brandId }],
    ...(scopes ? { scopes } : {}),
  });
  const capabilities = agrees === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: era }, capabilities },
  );
  if (agrees !== undefined) {
    client.setRequestHandler('elicitation/create', () =>
      agrees ? { action: 'accept', content: { confirm: true } } : { action: 'decline' },
    );
  }
  const headers = { Authorization: `Bearer ${accessToken}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), {
      requestInit: { headers },
      onInsufficientScope: 'throw',
    }),
  );
  return client;
}

async function createList(): Promise<number> {
  const { body } = await api.request<{ id: number }>('POST', '/v1/my/lists', {
    body: { name: `List ${Math.random()}` },
  });
  return body.id;
}

const statusOf = async (path: string) => (await api.request('GET', `/v1/my${path}`)).status;
const errorOf = (result: CallToolResult) => result.structuredContent as Record<string, string>;

async function lastOutcome(): Promise<string | undefined> {
  const { rows } = await api.database.pool.query<{ outcome: string }>(
    'select outcome from mcp_calls order by id desc limit 1',
  );
  return rows[0]?.outcome;
}

describe('deleting a list', () => {
  it('is done once the user has agreed in a form', async () => {
    const id = await createList();
    const client = await connect({ agrees: true });
    const result = await client.callTool({
      name: 'change_operation',
      arguments: { operation: 'delete_list', arguments: { id } },
    });
    expect(result).toMatchObject({ structuredContent: { result: { id } } });
    expect(await statusOf(`/lists/${id}`)).toBe(404);
  });

  it('is not done if the user declines', async () => {
    const id = await createList();
    const client = await connect({ agrees: false });
    const result = await client.callTool({
      name: 'change_operation',
      arguments: { operation: 'delete_list', arguments: { id } },
    });
    expect(errorOf(result)).toMatchObject({ code: 'forbidden' });
    expect(await statusOf(`/lists/${id}`)).toBe(200);
  });

  it.each(eras)('is done once the code is repeated (%j)', async (era) => {
    const id = await createList();
    const client = await connect({ era });
    const args = { operation: 'delete_list', arguments: { id } };
    const call = (confirmation?: string) =>
      client.callTool({
        name: 'change_operation',
        arguments: { ...args, ...(confirmation ? { confirmation } : {}) },
      });
    const first = await call();
    expect(errorOf(first)).toMatchObject({ code: 'confirmation_required' });
    expect(await lastOutcome()).toBe('asked');
    expect(await statusOf(`/lists/${id}`)).toBe(200);
    const second = await call(errorOf(first)['confirmation']);
    expect(second).toMatchObject({ structuredContent: { result: { id } } });
    expect(await lastOutcome()).toBe('ok');
    expect(await statusOf(`/lists/${id}`)).toBe(404);
  });
});

describe.each(eras)('resources and prompts (%j)', (era) => {
  it('list and read a template of the brand and the API description', async () => {
    const body = { name: 'Welcome', channel: 'email', subject: 'Hello', body: '<p>Hello</p>' };
    const { body: template } = await api.request<{ id: number }>('POST', '/v1/my/templates', { body });
    const client = await connect({ era });
    const uri = `carillon://brands/${api.brandId}/templates/${template.id}`;
    const { resources } = await client.listResources();
    expect(resources.map((each) => each.uri)).toEqual(
      expect.arrayContaining(['carillon://openapi.yaml', uri]),
    );
    const { contents } = await client.readResource({ uri });
    expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({
      result: { id: template.id, subject: 'Hello' },
      brand: { id: api.brandId },
    });
    const description = await client.readResource({ uri: 'carillon://openapi.yaml' });
    expect((description.contents[0] as { text: string }).text).toMatch(/^openapi: ["']?3\.1/);
    expect((await client.listResourceTemplates()).resourceTemplates).toHaveLength(2);
  });

  it('show nothing of another tenant', async () => {
    const token = api.other.apiKey;
    const body = { name: 'Secret', channel: 'email', subject: 'Hello', body: '<p>Hello</p>' };
    const { body: template } = await api.request<{ id: number }>('POST', '/v1/my/templates', { token, body });
    const client = await connect({ era });
    for (const brandId of [api.brandId, api.other.brandId]) {
      const uri = `carillon://brands/${brandId}/templates/${template.id}`;
      await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32602 });
    }
  });

  it('need mcp:read, except the API description', async () => {
    const client = await connect({ era, scopes: ['mcp:inbox'] });
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => uri)).toEqual(['carillon://openapi.yaml']);
    const uri = `carillon://brands/${api.brandId}/templates/1`;
    await expect(client.readResource({ uri })).rejects.toMatchObject({
      message: /insufficient_scope|mcp:read/,
    });
    expect(await lastOutcome()).toBe('insufficient_scope');
    expect((await client.readResource({ uri: 'carillon://openapi.yaml' })).contents).toHaveLength(1);
  });

  it('offer the prompts', async () => {
    const client = await connect({ era });
    expect((await client.listPrompts()).prompts).toHaveLength(3);
    const { messages } = await client.getPrompt({ name: 'draft_campaign', arguments: { goal: 'Sell tea' } });
    expect(messages).toMatchObject([{ role: 'user', content: { type: 'text' } }]);
    await expect(client.getPrompt({ name: 'draft_campaign' })).rejects.toMatchObject({ code: -32602 });
  });
});
