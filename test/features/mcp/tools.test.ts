// The tools that assistants see: few, small, with schemas that all clients can read, and none for what people must do.
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { McpScope } from '../../../src/platform/auth/grant-caller.ts';
import { memberRoles, type Role } from '../../../src/platform/auth/tenant.ts';
import { accessOf } from '../../../src/features/mcp/access.ts';
import { createTools, type Tools } from '../../../src/features/mcp/tools.ts';
import { selectionTools } from '../../../src/features/mcp/selection.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';

const SHOWN = { io: 'output', unrepresentable: 'any', cycles: 'ref' } as const;

let api: TestApi;
let tools: Tools;
beforeAll(async () => {
  api = await startTestApi();
  tools = createTools(api.routes);
});
afterAll(() => api.close());

const listed = (role: Role) => [...selectionTools, ...tools.listFor(role)];

/** Names below a schema, also of its properties. */
function keywordsIn(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([name, value]) => [name, ...keywordsIn(value)]);
}

it.each(memberRoles)('lists at most 40 tools in at most 60 KB for the role %s', (role) => {
  expect(listed(role).length).toBeLessThanOrEqual(40);
  expect(Buffer.byteLength(JSON.stringify({ tools: listed(role) }))).toBeLessThanOrEqual(60 * 1024);
});

it('lists the same objects at each call', () => {
  expect(tools.listFor('member')).toBe(tools.listFor('member'));
});

it('lists no tool that the role may not call', () => {
  const names = tools.listFor('member').map(({ name }) => name);
  expect(names).not.toContain('list_webhooks');
  expect(tools.listFor('admin').map(({ name }) => name)).toContain('list_webhooks');
});

it('has schemas without references, and an object without variants at the top of each', () => {
  for (const { name, inputSchema, outputSchema } of listed('owner')) {
    const keywords = keywordsIn([inputSchema, outputSchema]);
    expect({
      name,
      ref: keywords.filter((each) => each === '$ref' || each === '$defs' || each === 'oneOf'),
    }).toEqual({
      name,
      ref: [],
    });
    expect({ name, type: inputSchema.type }).toEqual({ name, type: 'object' });
    expect(Object.keys(inputSchema)).not.toEqual(expect.arrayContaining(['anyOf']));
    expect(Object.keys(inputSchema)).not.toEqual(expect.arrayContaining(['allOf']));
  }
});

it('requires only arguments that it describes', () => {
  for (const { name, inputSchema } of listed('owner')) {
    const { properties = {}, required = [] } = inputSchema as { properties?: object; required?: string[] };
    expect({ name, unknown: required.filter((each) => !(each in properties)) }).toEqual({
      name,
      unknown: [],
    });
  }
});

it('takes a brand in every tool of an operation', () => {
  for (const { route, tool } of tools.operationsFor('owner')) {
    expect([route.operationId, Object.keys(tool.inputSchema.properties ?? {})]).toEqual([
      route.operationId,
      expect.arrayContaining(['brand_id']),
    ]);
  }
});

it('shows long schemas as plain objects, and returns them whole on request', () => {
  const flow = tools.operation('create_flow');
  expect(flow?.tool.inputSchema.properties?.['steps']).toMatchObject({ type: 'array', items: {} });
  const whole = flow?.argumentSchema as { properties: { steps: object }; $defs: object };
  expect(JSON.stringify(whole.properties.steps)).toContain('$ref');
  expect(Object.keys(whole.$defs)).toContain('FlowTriggerInput');
});

it('requires an idempotency key of tools that send', () => {
  for (const name of [
    'send_message',
    'send_campaign',
    'activate_flow',
    'enter_flow',
    'reply_to_conversation',
  ]) {
    expect([name, tools.operation(name)?.tool.inputSchema.required]).toEqual([
      name,
      expect.arrayContaining(['idempotency_key']),
    ]);
  }
});

it('says of each tool whether it reads, destroys and can be repeated', () => {
  const hints = (name: string) => tools.operation(name)?.tool.annotations;
  expect(hints('list_contacts')).toMatchObject({
    readOnlyHint: true,
    destructiveHint: false,
    idempotentHint: true,
  });
  expect(hints('delete_contact')).toMatchObject({
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: true,
  });
  expect(hints('create_contact')).toMatchObject({ readOnlyHint: false, destructiveHint: false });
  expect(hints('send_message')).toMatchObject({ destructiveHint: false, openWorldHint: true });
});

it('reads by no other method than GET, unless the audit log is left out because nothing changes', () => {
  for (const { route, access } of tools.operationsFor('owner')) {
    if (access.readOnly)
      expect([route.operationId, route.method === 'GET' || route.audit === 'none']).toEqual([
        route.operationId,
        true,
      ]);
  }
});

/** What a user must do in person, or what holds a secret. A route that is added here says so in `assistants`. */
const NEVER_TAGS = ['Login', 'Sessions', 'Users', 'Invitations', 'API keys', 'Audit', 'Uploads', 'MCP'];

it.each(NEVER_TAGS)('offers nothing of %s', (tag) => {
  const offered = api.routes.filter((route) => route.tag === tag && accessOf(route) !== null);
  expect(offered.map(({ operationId }) => operationId)).toEqual([]);
});

it('offers no route that shows a secret or a file', () => {
  const denied = [
    'createWebhook',
    'rotateWebhookSecret',
    'getFlowWebhookSecret',
    'downloadExport',
    'getImportErrors',
  ];
  for (const name of denied)
    expect([name, tools.operation(name), tools.exists(name)]).toEqual([name, null, true]);
  expect(Object.keys(tools.operation('getWebhook')?.tool.inputSchema.properties ?? {})).not.toContain(
    'reveal',
  );
});

it('shows the drafts of editors, and does not save or delete them', () => {
  for (const name of ['putDraft', 'deleteDraft'])
    expect([name, tools.operation(name), tools.exists(name)]).toEqual([name, null, true]);
  expect(tools.operation('getDraft')).not.toBeNull();
});

/** What each operation needs beyond reading and writing. A new route that sends or shows mail joins this list. */
const special: Record<string, string[]> = {
  'mcp:send': [
    'sendMessage',
    'sendMessageBatch',
    'resendMessage',
    'changeMessage',
    'sendTestOfTemplate',
    'sendTestOfContent',
    'sendCampaign',
    'resendUnknownRecipients',
    'activateFlow',
    'resumeFlow',
    'enterFlow',
    'resendUnknownOfFlow',
    'replyToConversation',
  ],
  'mcp:inbox': [
    'listConversations',
    'getConversation',
    'changeConversation',
    'markConversationRead',
    'markConversationUnread',
    'listConversationMessages',
    'getConversationMessage',
    'replyToConversation',
    'listInboxQuarantine',
    'releaseFromInboxQuarantine',
    'createConversationBulkAction',
    'deleteConversation',
    'deleteConversationMessage',
    'deleteFromInboxQuarantine',
  ],
};

it.each(Object.entries(special))('needs %s for these operations', (scope, names) => {
  const found = tools
    .operationsFor('owner')
    .filter(({ access }) => access.scopesFor({}, new Set()).some((each) => each === scope))
    .map(({ route }) => route.operationId);
  expect(found.sort()).toEqual([...names].sort());
});

it('needs mcp:send for what starts to send by a status', () => {
  for (const name of ['createCampaign', 'changeCampaign', 'createFlow', 'changeFlow']) {
    const access = tools.operation(name)?.access;
    expect([name, access?.scopesFor({ status: 'active' }, new Set())]).toEqual([
      name,
      ['mcp:write', 'mcp:send'],
    ]);
    expect([name, access?.asks({ status: 'active' })]).toEqual([name, true]);
  }
  for (const name of ['changeCampaign', 'changeFlow']) {
    expect(tools.operation(name)?.access.isLive({ status: 'draft' })).toBe(false);
    expect(tools.operation(name)?.access.isLive({ status: 'paused' })).toBe(true);
  }
  expect(tools.operation('changeFlow')?.access.sends({ id: 1, status: 'paused' })).toBe(false);
  expect(tools.operation('changeFlow')?.access.asks({ id: 1, status: 'archived' })).toBe(true);
  expect(tools.operation('changeFlow')?.access.sends({ id: 1, steps: [] })).toBe('if live');
});

/** Those that send are not among them: they need mcp:send anyway. */
it('needs mcp:send, beside mcp:inbox, for what reaches a name that the call can choose', () => {
  const scopesOf = (name: string, granted: McpScope[]) =>
    tools.operation(name)?.access.scopesFor({}, new Set(granted));
  const reaching = tools
    .operationsFor('owner')
    .map(({ name }) => name)
    .filter((name) => String(scopesOf(name, [])) !== String(scopesOf(name, ['mcp:inbox'])));
  expect(reaching.sort()).toEqual(['create_domain', 'scrape_brand', 'start_validation']);
  for (const name of reaching) {
    expect([name, scopesOf(name, [])]).toEqual([name, ['mcp:write']]);
    expect([name, scopesOf(name, ['mcp:inbox'])]).toEqual([name, ['mcp:write', 'mcp:send']]);
  }
});

it('asks about every change that test keys may do only to what is not being sent', () => {
  const limited = tools
    .operationsFor('owner')
    .filter(({ route }) => route.method === 'PATCH' && typeof route.testKeys === 'object')
    // Another time for a message sends it to the same recipient.
    .filter(({ route }) => route.operationId !== 'changeMessage');
  expect(limited.map(({ route }) => route.operationId).sort()).toEqual([
    ...['changeCampaign', 'changeFlow', 'changeSegment', 'changeTemplate'],
  ]);
  for (const { name, access } of limited)
    expect([name, access.mayAsk, access.maySend]).toEqual([name, true, true]);
});

it('shows the wallet in no response without all brands', () => {
  const fieldsOf = (schema: z.ZodType | null) => (schema ? keywordsIn(z.toJSONSchema(schema, SHOWN)) : []);
  const showing = tools
    .operationsFor('owner')
    .filter(({ route }) =>
      Object.values(route.responses).some(({ schema }) => fieldsOf(schema).includes('wallet_balance_cents')),
    );
  expect(showing.map(({ name }) => name)).toContain('get_account');
  for (const { name, access } of showing) {
    expect([name, access.allBrands({}) || access.sharedFields.length > 0]).toEqual([name, true]);
  }
});

it('needs all brands for every operation on what all brands share', () => {
  const shared = ['/v1/my/suppressions', '/v1/my/wallet'];
  const operations = tools.operationsFor('owner');
  const all = operations.filter(({ access }) => access.allBrands({})).map(({ route }) => route.operationId);
  const expected = operations
    .filter(({ route }) => shared.some((path) => route.path.startsWith(path)))
    .map(({ route }) => route.operationId);
  expect(all.sort()).toEqual([...expected, 'patchAccount'].sort());
  for (const name of ['create_import', 'create_export']) {
    const { allBrands } = tools.operation(name)?.access ?? {};
    expect([name, allBrands?.({ resource: 'suppressions' }), allBrands?.({ resource: 'contacts' })]).toEqual([
      ...[name, true, false],
    ]);
  }
});
