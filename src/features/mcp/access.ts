import type {
  AssistantArguments,
  AssistantRules,
  AssistantScope,
  RouteDefinition,
} from '../../platform/http/route.ts';

/** The scopes that users grant to assistants. */
export type McpScope = `mcp:${AssistantScope}`;

/** What an assistant needs for a route. */
export interface Access {
  /** Whether no call changes anything. */
  readOnly: boolean;
  /** The scopes that these arguments need. */
  scopesFor(args: AssistantArguments): McpScope[];
  /** Whether the user must confirm a call with these arguments. */
  asks(args: AssistantArguments): boolean;
  /** Whether a call needs `mcp:send` and a confirmation if the resource is not a draft. */
  sendsUnlessDraft: boolean;
  /** Whether these calls send, so that repeating one may send twice. */
  sends(args: AssistantArguments): boolean;
  /** Whether the response, or this item of its list, has mail of strangers. */
  hasMail(item: unknown): boolean;
  /** Arguments that assistants cannot give. */
  without: readonly string[];
  /** The argument that has the text of the file; null if the route takes no file. */
  fileAsText: string | null;
}

type Rule = 'always' | 'never' | 'unless draft' | ((args: AssistantArguments) => boolean);

const applies = (rule: Rule | undefined, args: AssistantArguments): boolean =>
  typeof rule === 'function' ? rule(args) : rule === 'always';

/** Whether each success is JSON, which tools return. */
function answersJson({ responses }: RouteDefinition): boolean {
  return Object.values(responses).every(
    ({ schema, contentType }) =>
      schema !== null && (contentType ?? 'application/json') === 'application/json',
  );
}

/** Whether the route can be offered at all. Credentials, users and files are for people and programs. */
function isOffered(route: RouteDefinition, rules: AssistantRules): boolean {
  const isForTenants = route.auth === 'account' || route.auth === 'brand';
  const isFile = route.multipart !== undefined && rules.fileAsText === undefined;
  return isForTenants && !route.usersOnly && !route.confirm && !route.opaque && !isFile && answersJson(route);
}

/**
 * Returns what an assistant needs for a route, from its `assistants` and the defaults.
 * @returns null if assistants never get the route
 */
export function accessOf(route: RouteDefinition): Access | null {
  const { assistants: rules = {} } = route;
  if (rules === 'never' || !isOffered(route, rules)) return null;
  const { sends, mail } = rules;
  const readOnly = sends === undefined && (route.method === 'GET' || route.audit === 'none');
  const asks = rules.asks ?? (route.method === 'DELETE' ? 'always' : (sends ?? 'never'));
  /** The scope of each call. A route that always sends needs no `write`, and one that reads mail no `read`. */
  const fixed = (): AssistantScope[] => {
    if (rules.scope) return [rules.scope];
    if (readOnly) return mail === 'always' ? [] : ['read'];
    return sends === 'always' ? [] : ['write'];
  };
  const base = [...fixed(), ...(mail === 'always' ? ['inbox' as const] : [])];
  return {
    readOnly,
    scopesFor: (args) =>
      [...base, ...(applies(sends, args) ? ['send' as const] : [])].map((scope): McpScope => `mcp:${scope}`),
    asks: (args) => applies(asks, args),
    sendsUnlessDraft: sends === 'unless draft',
    sends: (args) => applies(sends, args),
    hasMail: (item) => (typeof mail === 'function' ? mail(item) : mail === 'always'),
    without: rules.without ?? [],
    fileAsText: rules.fileAsText ?? null,
  };
}
