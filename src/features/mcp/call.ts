import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server';
import type { Role } from '../../platform/auth/tenant.ts';
import type { HttpMethod } from '../../platform/http/route.ts';
import { AppError } from '../../errors.ts';
import type { McpScope } from './access.ts';
import type { Tools } from './tools.ts';

/** The part of a `GrantCaller` that tools need. */
export interface ToolCaller {
  grantId: number;
  scopes: ReadonlySet<McpScope>;
  /** The accounts and brands that the user has ticked and may use now. */
  choices: readonly {
    accountId: number;
    accountName: string;
    role: Role;
    brands: readonly { id: number; name: string }[];
  }[];
  selected: { accountId: number; brandId: number | null } | null;
}

/** The account and brand that a call acts on. */
export interface ToolTarget {
  accountId: number;
  accountName: string;
  role: Role;
  /** Null if the account has no brand. */
  brand: { id: number; name: string } | null;
}

export interface InnerRequest {
  method: HttpMethod;
  /** With the query string. */
  path: string;
  headers: Record<string, string>;
  body: string | null;
}

export interface InnerResponse {
  status: number;
  headers: Record<string, string | string[] | number | undefined>;
  body: string;
}

export type ToolResult = CallToolResult | InputRequiredResult;

/** Asks the user about a call, by elicitation or by a confirmation that the client repeats. */
export interface Confirmations {
  /**
   * @param call `args` are without `confirmation`, and name the account and the brand; `confirmation` is the code that
   *   the client repeats, if it gave one
   * @returns `go on` if the user has confirmed exactly this call, which uses the confirmation up
   */
  require(call: {
    grantId: number;
    tool: string;
    args: Readonly<Record<string, unknown>>;
    confirmation: string | null;
    /** What the call does, for the user: `Send the campaign 7 of Acme`. */
    summary: string;
    ctx: ServerContext;
  }): Promise<'go on' | ToolResult>;
}

export interface ToolDeps {
  tools: Tools;
  /** Sends a request to a route of this process as the user of the grant. */
  requestAs(caller: ToolCaller, target: ToolTarget, request: InnerRequest): Promise<InnerResponse>;
  confirmations: Confirmations;
}

/** A call, for its result and the log. */
export interface ToolCall {
  result: ToolResult;
  /** The operation that was called or refused; null for `find_operation` and unknown names. */
  operation: string | null;
  target: ToolTarget | null;
  /** Of the resource that the call names or creates. */
  resourceId: string | null;
  /** `ok`, an error code of the API, `insufficient_scope`, or `asked` if the user must confirm it first. */
  outcome: string;
}

/**
 * Returns the scopes that a call needs, as far as its arguments say so: for the challenge of a client that lacks one.
 * @returns none for an unknown tool
 */
export function scopesOfCall(
  tools: Tools,
  name: string,
  args: Readonly<Record<string, unknown>>,
): McpScope[] {
  const found = tools.find(name);
  return found?.kind === 'operation' ? found.operation.access.scopesFor(args) : ['mcp:read'];
}

/**
 * Calls a tool.
 * @returns refusals, too, as results with `isError`
 * @throws AppError not_found if there is no such tool
 */
export async function callTool(
  deps: ToolDeps,
  caller: ToolCaller,
  name: string,
  args: Readonly<Record<string, unknown>>,
  ctx: ServerContext,
): Promise<ToolCall> {
  void [caller, args, ctx];
  if (!deps.tools.find(name)) throw new AppError('not_found', `there is no tool ${name}`);
  return Promise.reject(new AppError('unavailable', 'tools are not served yet'));
}
