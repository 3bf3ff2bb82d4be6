// Each operation is the same through its tool as through its route: what it checks, returns and refuses, for each role.
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mcpScopes } from '../../../src/platform/auth/grant-caller.ts';
import { memberRoles, type Role } from '../../../src/platform/auth/tenant.ts';
import type { Operation } from '../../../src/features/mcp/tools.ts';
import { startTestApi, type TestApi } from '../../support/api.ts';
import { createToolCalls, type TestUser, type ToolCalls, type Values } from '../../support/tool-calls.ts';

/** An id that no resource has. */
const MISSING = 999_999_999;

let api: TestApi;
let calls: ToolCalls;
let operations: Operation[];
const users = new Map<Role, TestUser>();

beforeAll(async () => {
  api = await startTestApi();
  calls = createToolCalls(api);
  operations = calls.tools.operationsFor('owner');
  users.set('owner', api);
  for (const role of ['admin', 'member'] as const) users.set(role, await api.addUser(role));
});
afterAll(() => api.close());

const userOf = (role: Role) => users.get(role) as TestUser;

/** Arguments that name no resource which exists. */
function missing({ route }: Operation): Values {
  return Object.fromEntries(Object.keys(route.params?.shape ?? {}).map((name) => [name, MISSING]));
}

/** Bodies are read as a file there. */
const isFile = ({ access }: Operation) => access.fileAsText !== null;

describe.each(memberRoles)('as %s', (role) => {
  it.each(['its tool', 'the generic tools'])('refuses by %s what the route refuses', async (way) => {
    for (const operation of operations.filter((each) => !isFile(each))) {
      const args = { ...missing(operation), unknown_argument: 'x' };
      const direct = await calls.ask(userOf(role), operation, { ...args, idempotency_key: 'refused' });
      const answer = await calls.run(userOf(role), operation, args, { generic: way !== 'its tool' });
      expect(direct.status).toBeGreaterThanOrEqual(400);
      expect([operation.name, answer]).toEqual([operation.name, { ...direct.body, isError: true }]);
    }
  });
});

/** A value without what differs between two resources that the same request has created. */
function steady(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(steady);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(
    ([name]) => name !== 'id' && name !== 'url' && !name.endsWith('_at'),
  );
  return Object.fromEntries(kept.map(([name, each]) => [name, steady(each)]));
}

/** Operations whose second call differs from the first, because the first has changed something. */
const CHANGES_AT_ONCE = new Set(['createInbox', 'patchAccount', 'putBrand', 'scrapeBrand', 'createExport']);

it('answers calls without arguments as the route answers them', async () => {
  const plain = operations.filter((each) => !isFile(each) && !CHANGES_AT_ONCE.has(each.route.operationId));
  for (const operation of plain) {
    const args = missing(operation);
    const direct = await calls.ask(api, operation, { ...args, idempotency_key: 'plain' });
    const answer = await calls.run(api, operation, args);
    const shown = Array.isArray(direct.body)
      ? answer.items
      : (answer.result ?? { ...answer, isError: undefined });
    expect([operation.name, steady(shown)]).toEqual([operation.name, steady(direct.body)]);
  }
});

describe('what the user did not allow', () => {
  it('refuses each operation without one of its scopes, and says which', async () => {
    for (const operation of operations) {
      const needed = operation.access.scopesFor({});
      for (const lacking of needed) {
        const scopes = mcpScopes.filter((scope) => scope !== lacking);
        const generic = operation.access.readOnly ? 'read_operation' : 'change_operation';
        const args = { operation: operation.name, arguments: missing(operation) };
        const response = await calls.send(api, generic, args, { scopes });
        expect([operation.name, response.status]).toEqual([operation.name, 403]);
        expect(response.headers.get('www-authenticate')).toContain(lacking);
      }
    }
  });

  it('never calls a route that assistants are denied', async () => {
    const denied = api.routes.filter(({ operationId }) => calls.tools.operation(operationId) === null);
    expect(denied.length).toBeGreaterThan(50);
    for (const { operationId, params } of denied) {
      const own = Object.fromEntries(Object.keys(params?.shape ?? {}).map((name) => [name, 1]));
      for (const tool of ['read_operation', 'change_operation', 'find_operation']) {
        const args = { operation: operationId, ...(tool === 'find_operation' ? {} : { arguments: own }) };
        const answer = await calls.call(api, tool, args);
        expect([operationId, answer]).toEqual([
          operationId,
          { ...answer, isError: true, code: expect.stringMatching(/^(forbidden|not_found)$/) },
        ]);
      }
    }
  });

  it('refuses a brand of another tenant in each operation', async () => {
    for (const operation of operations) {
      const args = { ...missing(operation), brand_id: api.other.brandId };
      const answer = await calls.run(api, operation, args);
      expect([operation.name, answer]).toEqual([
        operation.name,
        expect.objectContaining({ isError: true, code: 'not_found' }),
      ]);
    }
  });
});
