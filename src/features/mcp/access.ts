import type { McpScope } from '../../platform/auth/grant-caller.ts';
import type {
  AssistantArguments,
  AssistantRules,
  AssistantScope,
  RouteDefinition,
} from '../../platform/http/route.ts';
import {
  mayHaveTextsOfStrangers,
  withoutTextsOfStrangers,
  type WithoutTexts,
} from '../../platform/openapi/strangers-texts.ts';

/** What an assistant needs for a route. The arguments are those of the route. */
export interface Access {
  /** Whether no call changes anything. */
  readOnly: boolean;
  /** Whether these arguments send to recipients. `if live`: the resource decides. */
  sends(args: AssistantArguments): boolean | 'if live';
  /** Whether a change of the resource, as its route shows it, changes what is being sent. */
  isLive(resource: unknown): boolean;
  /** Whether the route refuses a call that changes what is being sent until it is confirmed. */
  sendsIfInUse: boolean;
  /**
   * The scopes that these arguments need; those that send `if live` or `if in use` may need `mcp:send`, too.
   * @param granted those of the caller
   */
  scopesFor(args: AssistantArguments, granted: ReadonlySet<McpScope>): McpScope[];
  /** Whether the user must confirm a call with these arguments. */
  asks(args: AssistantArguments): boolean;
  /** Whether some calls must be confirmed. */
  mayAsk: boolean;
  /** Whether some calls remove or end something that was there, or cost money. */
  destroys: boolean;
  /** Whether some calls send, or reach a name that they choose. */
  maySend: boolean;
  /** Whether these arguments read or change what all brands of the account share. */
  allBrands(args: AssistantArguments): boolean;
  /** Fields of the resource that are about all brands of the account, with the names of the objects they are in. */
  sharedFields: readonly string[];
  /** Whether the resource, or this item of a list, has mail of strangers. */
  hasMail(item: unknown): boolean;
  /** The body of a response without the single texts that strangers wrote, and their number. */
  withoutTexts(status: number, body: unknown): WithoutTexts;
  /** Arguments that assistants cannot give. */
  without: readonly string[];
  /** The argument that has the text of the file; null if the route takes no file. */
  fileAsText: string | null;
}

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

type Sends = AssistantRules['sends'];

const dependsOnResource = (sends: Sends) => sends === 'unless draft' || typeof sends === 'object';
const isDestructive = (sends: Sends) => dependsOnResource(sends) || sends === 'if in use';

const isNoDraft = (resource: unknown) => (resource as { status?: unknown } | null)?.status !== 'draft';

/** Decides about a change of a resource that may be live, such as a campaign. */
function sendsIfLive(params: readonly string[], args: AssistantArguments): boolean | 'if live' {
  const changed = Object.keys(args).filter((name) => !params.includes(name));
  if (args.status === 'active') return true;
  // To pause or archive it sends nothing.
  return changed.some((name) => name !== 'status') && 'if live';
}

function sendingOf(route: RouteDefinition, { sends }: AssistantRules): Access['sends'] {
  const params = Object.keys(route.params?.shape ?? {});
  if (dependsOnResource(sends)) return (args) => sendsIfLive(params, args);
  return typeof sends === 'function' ? sends : () => sends === 'always';
}

function askingOf(
  route: RouteDefinition,
  { sends, asks }: AssistantRules,
  sending: Access['sends'],
): Access['asks'] {
  if (typeof asks === 'function') return asks;
  if (asks !== undefined) return () => asks === 'always';
  if (route.method === 'DELETE') return () => true;
  // To archive it cannot be undone, as with DELETE.
  if (dependsOnResource(sends)) return (args) => sending(args) === true || args.status === 'archived';
  return (args) => sending(args) === true;
}

/** The scopes of every call. A client that may send need not write; one that may read mail need not read the rest. */
function fixedScopes({ scope, sends, mail }: AssistantRules, readOnly: boolean): AssistantScope[] {
  const scopes: AssistantScope[] = mail === 'always' ? ['inbox'] : [];
  if (scope) return [scope, ...scopes];
  if (readOnly) return mail === 'always' ? scopes : ['read', ...scopes];
  return sends === 'always' ? scopes : ['write', ...scopes];
}

/** Whether some calls must be confirmed, and whether some remove or end something that was there, or cost money. */
function dangersOf({ method }: RouteDefinition, { sends, asks }: AssistantRules) {
  const isDelete = method === 'DELETE';
  const mayAsk = asks !== 'never' && (isDelete || (asks ?? sends) !== undefined);
  return { mayAsk, destroys: mayAsk && (isDelete || sends === undefined || isDestructive(sends)) };
}

/** Finds texts of strangers by the schemas of responses. */
function textsOf({ responses }: RouteDefinition): Access['withoutTexts'] {
  const marked = new Map(
    Object.entries(responses).flatMap(([status, { schema }]) =>
      schema && mayHaveTextsOfStrangers(schema) ? [[Number(status), schema]] : [],
    ),
  );
  return (status, body) => {
    const schema = marked.get(status);
    return schema ? withoutTextsOfStrangers(schema, body) : { value: body, texts: 0 };
  };
}

/**
 * Returns what an assistant needs for a route, from its `assistants` and the defaults.
 * @returns null if assistants never get the route
 */
export function accessOf(route: RouteDefinition): Access | null {
  const { assistants: rules = {} } = route;
  if (rules === 'never' || !isOffered(route, rules)) return null;
  const { sends, mail, allBrands, sharedFields, reachesOut } = rules;
  const readOnly = sends === undefined && (route.method === 'GET' || route.audit === 'none');
  const base = fixedScopes(rules, readOnly);
  const sending = sendingOf(route, rules);
  return {
    readOnly,
    sends: sending,
    isLive: typeof sends === 'object' ? sends.isLive : isNoDraft,
    sendsIfInUse: sends === 'if in use',
    scopesFor(args, granted) {
      const needsSend = sending(args) === true || (reachesOut === true && granted.has('mcp:inbox'));
      const scopes = needsSend ? [...base, 'send' as const] : base;
      return scopes.map((each): McpScope => `mcp:${each}`);
    },
    asks: askingOf(route, rules, sending),
    ...dangersOf(route, rules),
    maySend: sends !== undefined || reachesOut === true,
    allBrands: typeof allBrands === 'function' ? allBrands : () => allBrands === 'always',
    sharedFields: sharedFields ?? [],
    hasMail: (item) => (typeof mail === 'function' ? mail(item) : mail === 'always'),
    withoutTexts: textsOf(route),
    without: rules.without ?? [],
    fileAsText: rules.fileAsText ?? null,
  };
}
