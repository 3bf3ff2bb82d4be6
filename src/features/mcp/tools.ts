import type { Tool } from '@modelcontextprotocol/server';
import { memberRoles, type Role } from '../../platform/auth/tenant.ts';
import type { RouteDefinition } from '../../platform/http/route.ts';
import { catalogue } from './catalogue.ts';
import { controls, createOperations, type Operation, toolName } from './operations.ts';

export type { Operation } from './operations.ts';

/** What a tool does: one operation, or one of the three tools that find and call all others. */
export type ToolDefinition =
  | { kind: 'operation'; name: string; operation: Operation }
  | { kind: 'find' | 'read' | 'change'; name: string };

export interface Tools {
  /** The tools of a role, which are the same objects at each call; without those of `whoami` and the selection. */
  listFor(role: Role): Tool[];
  /** @returns null if there is no such tool */
  find(name: string): ToolDefinition | null;
  /** @param name in snake or camel case. @returns null if there is none, or if it is not for assistants */
  operation(name: string): Operation | null;
  /** Whether the API has the operation, which assistants may be denied. */
  exists(name: string): boolean;
  /** Every operation for assistants that a role may call. */
  operationsFor(role: Role): Operation[];
  /** The operation that reads the resource which the path of another one names; null if there is none. */
  resourceOf(operation: Operation): Operation | null;
}

const operationArguments = {
  operation: { type: 'string', description: 'A name from find_operation, such as get_domain.' },
  arguments: {
    type: 'object',
    additionalProperties: true,
    description: 'As the input_schema of find_operation has them.',
  },
};

/** The tools for all operations without one of their own. */
const generic: Record<string, { kind: 'find' | 'read' | 'change'; tool: Tool }> = {
  find_operation: {
    kind: 'find',
    tool: {
      name: 'find_operation',
      title: 'Find what the API can do',
      description:
        'Finds operations of the API by words, also those without a tool of their own. With `operation`, returns the whole ' +
        'input schema of one, such as the form of `steps` of flows and `design` of templates.',
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', maxLength: 200, description: 'Words, such as "webhook retry".' },
          operation: { type: 'string', maxLength: 100, description: 'The name of an operation or tool.' },
        },
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
  },
  read_operation: {
    kind: 'read',
    tool: {
      name: 'read_operation',
      title: 'Read by any operation',
      description:
        'Calls an operation that changes nothing. Find its name and arguments with find_operation.',
      inputSchema: {
        type: 'object',
        properties: { ...operationArguments, brand_id: controls.brand_id },
        required: ['operation'],
      },
      annotations: { readOnlyHint: true, openWorldHint: false },
    },
  },
  change_operation: {
    kind: 'change',
    tool: {
      name: 'change_operation',
      title: 'Change or send by any operation',
      description:
        'Calls an operation that changes or sends something. Find its name and arguments with find_operation. The same ' +
        'scopes, roles and confirmations apply as for its own tool.',
      inputSchema: {
        type: 'object',
        properties: {
          ...operationArguments,
          idempotency_key: controls.idempotency_key,
          confirmation: controls.confirmation,
          brand_id: controls.brand_id,
        },
        required: ['operation'],
      },
      annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    },
  },
};

/** Builds the tools from the routes. */
export function createTools(routes: RouteDefinition[]): Tools {
  const operations = createOperations(routes);
  const names = new Set(routes.map((route) => toolName(route.operationId)));
  const ofRole = (role: Role) =>
    [...operations.values()].filter(({ route }) => route.roles?.includes(role) ?? true);
  const reading = new Map(
    [...operations.values()]
      .filter(({ route }) => route.method === 'GET')
      .map((each) => [each.route.path, each]),
  );
  const listed = catalogue.map(toolName);
  const lists = new Map<Role, Tool[]>();
  for (const role of memberRoles) {
    const allowed = new Map(ofRole(role).map((operation) => [operation.name, operation.tool]));
    const own = listed.map((name) => allowed.get(name)).filter((tool) => tool !== undefined);
    lists.set(role, [...own, ...Object.values(generic).map(({ tool }) => tool)]);
  }
  return {
    listFor: (role) => lists.get(role) ?? [],
    find(name) {
      const kind = Object.hasOwn(generic, name) ? generic[name]?.kind : undefined;
      if (kind) return { kind, name };
      const operation = listed.includes(name) ? operations.get(name) : undefined;
      return operation ? { kind: 'operation', name, operation } : null;
    },
    operation: (name) => operations.get(toolName(name)) ?? null,
    exists: (name) => names.has(toolName(name)),
    operationsFor: ofRole,
    resourceOf: ({ route: { path } }) => reading.get(/^.*?\/:\w+/.exec(path)?.[0] ?? '') ?? null,
  };
}
