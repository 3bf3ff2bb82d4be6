import type { Tool } from '@modelcontextprotocol/server';
import { memberRoles, type Role } from '../../platform/auth/tenant.ts';
import type { RouteDefinition } from '../../platform/http/route.ts';
import { accessOf, type Access } from './access.ts';

/** A route as assistants call it, by a tool of its own or by `read_operation` and `change_operation`. */
export interface Operation {
  /** The operation id in snake case: `send_message`. */
  name: string;
  route: RouteDefinition;
  access: Access;
  /** How `tools/list` shows it. */
  tool: Tool;
}

/** What a tool does: one operation, or one of the three tools that find and call all others. */
export type ToolDefinition =
  | { kind: 'operation'; name: string; operation: Operation }
  | { kind: 'find' | 'read' | 'change'; name: string; tool: Tool };

export interface Tools {
  /** The tools of a role, which are the same objects at each call; without those of `whoami` and the selection. */
  listFor(role: Role): Tool[];
  /** @returns null if there is no such tool */
  find(name: string): ToolDefinition | null;
  /** @param name in snake or camel case. @returns null if there is none, or if it is not for assistants */
  operation(name: string): Operation | null;
  /** Whether the API has the operation, which assistants may be denied. */
  exists(name: string): boolean;
}

/** `send_message` for `sendMessage`. */
export const toolName = (operationId: string): string =>
  operationId.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function createOperations(routes: RouteDefinition[]): Map<string, Operation> {
  const operations = new Map<string, Operation>();
  for (const route of routes) {
    const access = accessOf(route);
    const name = toolName(route.operationId);
    const tool: Tool = { name, description: route.summary, inputSchema: { type: 'object' } };
    if (access) operations.set(name, { name, route, access, tool });
  }
  return operations;
}

/** Builds the tools from the routes. */
export function createTools(routes: RouteDefinition[]): Tools {
  const operations = createOperations(routes);
  const names = new Set(routes.map((route) => toolName(route.operationId)));
  const lists = new Map<Role, Tool[]>(
    memberRoles.map((role) => [
      role,
      [...operations.values()]
        .filter(({ route }) => route.roles?.includes(role) ?? true)
        .map(({ tool }) => tool),
    ]),
  );
  return {
    listFor: (role) => lists.get(role) ?? [],
    find(name) {
      const operation = operations.get(name);
      return operation ? { kind: 'operation', name, operation } : null;
    },
    operation: (name) => operations.get(toolName(name)) ?? null,
    exists: (name) => names.has(toolName(name)),
  };
}
