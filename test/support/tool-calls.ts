import type { McpScope } from '../../src/platform/auth/grant-caller.ts';
import { createTools, type Operation, type Tools } from '../../src/features/mcp/tools.ts';
import type { TestApi, TestResponse } from './api.ts';
import { callTool } from './assistant.ts';
import { insertGrant } from './grants.ts';

export type Values = Record<string, unknown>;

/** The structured result of a call. */
export interface ToolAnswer extends Values {
  isError: boolean;
  /** The result of a resource, or the items of a list. */
  result?: Values | null;
  items?: Values[];
  code?: string;
  validation_errors?: Record<string, string[]>;
  confirmation?: string;
}

export interface TestUser {
  userId: number;
  userJwt: string;
}

export interface ToolCalls {
  tools: Tools;
  /** Calls a tool as an assistant of the user, which has a new grant. */
  call(user: TestUser, name: string, args: Values, options?: CallOptions): Promise<ToolAnswer>;
  /** The same; asserts nothing of the response. */
  send(user: TestUser, name: string, args: Values, options?: CallOptions): Promise<TestResponse>;
  /** Calls an operation by its own tool, if it has one, or by the generic ones; and agrees if the user is asked. */
  run(user: TestUser, operation: Operation, args: Values, options?: CallOptions): Promise<ToolAnswer>;
  /** Gives an assistant of the user a new grant. @returns its access token */
  tokenFor(user: TestUser, options?: CallOptions): Promise<string>;
  /** Sends the request of an operation as its user. */
  ask(user: TestUser, operation: Operation, args: Values): Promise<TestResponse>;
}

export interface CallOptions {
  scopes?: readonly McpScope[];
  /** What the user ticked; by default the first brand. */
  brandIds?: (number | null)[];
  /** Calls by `read_operation` and `change_operation` only. */
  generic?: boolean;
  /** An access token of an earlier call. */
  token?: string;
}

const keyed = ({ access, route }: Operation) => access.sends({}) === true && route.idempotency !== 'none';

/** The tool that calls an operation, and its arguments. */
function toolOf(tools: Tools, { name, access }: Operation, args: Values, generic: boolean): [string, Values] {
  if (!generic && tools.find(name)) return [name, args];
  const { brand_id, idempotency_key, confirmation, ...own } = args;
  const controls = { brand_id, idempotency_key, confirmation };
  return [
    access.readOnly ? 'read_operation' : 'change_operation',
    { operation: name, arguments: own, ...controls },
  ];
}

/** The structured result in a response of the endpoint. */
export function answerOf(response: TestResponse): ToolAnswer {
  const { result } = response.body as unknown as {
    result?: { structuredContent: Values; isError?: boolean };
  };
  if (!result) throw new Error(`no result: ${response.status} ${response.text}`);
  return { ...result.structuredContent, isError: result.isError ?? false };
}

export function createToolCalls(api: TestApi): ToolCalls {
  const tools = createTools(api.routes);

  async function tokenFor({ userId }: TestUser, options: CallOptions = {}): Promise<string> {
    if (options.token !== undefined) return options.token;
    const { brandIds = [api.brandId], scopes } = options;
    const choices = brandIds.map((brandId) => ({ accountId: api.accountId, brandId }));
    const { accessToken } = await insertGrant(api.database.pool, {
      baseUrl: api.baseUrl,
      userId,
      choices,
      ...(scopes ? { scopes } : {}),
    });
    return accessToken;
  }

  const send: ToolCalls['send'] = async (user, name, args, options = {}) =>
    callTool(api, await tokenFor(user, options), name, args);

  return {
    tools,
    tokenFor,
    send,
    call: async (user, name, args, options) => answerOf(await send(user, name, args, options)),
    async run(user, operation, args, options = {}) {
      const given = keyed(operation) ? { idempotency_key: `run-${operation.name}`, ...args } : args;
      const token = await tokenFor(user, options);
      const attempt = async (more: Values) => {
        const [name, values] = toolOf(tools, operation, { ...given, ...more }, options.generic ?? false);
        return answerOf(await callTool(api, token, name, values));
      };
      const first = await attempt({});
      return first.code === 'confirmation_required' && first.confirmation !== undefined
        ? attempt({ confirmation: first.confirmation })
        : first;
    },
    ask({ userJwt }, { route }, args) {
      const { idempotency_key: key, ...others } = args;
      const params = Object.keys(route.params?.shape ?? {});
      const path = route.path.replace(/:(\w+)/g, (_match, name: string) => String(args[name]));
      const rest = Object.entries(others).filter(([name]) => !params.includes(name));
      const query = route.body
        ? ''
        : `?${new URLSearchParams(rest.map(([name, value]): [string, string] => [name, String(value)])).toString()}`;
      return api.request(route.method, `${path}${query === '?' ? '' : query}`, {
        token: userJwt,
        headers: {
          'X-Brand-Id': String(api.brandId),
          ...(key === undefined ? {} : { 'Idempotency-Key': String(key) }),
        },
        ...(route.body ? { body: Object.fromEntries(rest) } : {}),
      });
    },
  };
}
