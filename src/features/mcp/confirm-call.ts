/** Decides whether the user must confirm a call, and asks. */
import type { ServerContext } from '@modelcontextprotocol/server';
import { AppError, invalid } from '../../errors.ts';
import type { GrantCaller, McpScope } from '../../platform/auth/grant-caller.ts';
import type { AssistantArguments } from '../../platform/http/route.ts';
import type { Access } from './access.ts';
import type { ToolDeps, ToolResult } from './call.ts';
import type { Operation } from './operations.ts';
import { type OperationCall, readCall, requestOf } from './requests.ts';
import { scopeMessage } from './results.ts';
import type { ToolTarget } from './targets.ts';

/** The resource that a call is about, as a route shows it. */
interface Resource {
  revision?: unknown;
  name?: unknown;
}

export const withoutUndefined = (values: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

const MAX_SHOWN = 400;

/** What a call acts on, for the user who confirms it. */
function scopeOf(
  { allBrands }: Access,
  args: AssistantArguments,
  { brand, accountName }: ToolTarget,
): string {
  if (allBrands(args)) return `all brands of ${accountName}`;
  return brand?.name ?? accountName;
}

/** What a call does, for the user who confirms it. */
function summaryOf(
  { route, access }: Operation,
  { args }: OperationCall,
  resource: Resource | null,
  target: ToolTarget,
): string {
  const name = typeof resource?.name === 'string' ? ` "${resource.name}"` : '';
  const shown = JSON.stringify(args);
  const values =
    shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN)}… (${shown.length} characters)` : shown;
  return `${route.summary}${name} (${scopeOf(access, args, target)}): ${values}`;
}

/** One call of an operation, once its scopes and its target are known. */
export interface Running extends ToolDeps {
  caller: GrantCaller;
  operation: Operation;
  call: OperationCall;
  target: ToolTarget;
  ctx: ServerContext;
}

/** Reads the resource at the path of the call. @returns null if it has no such route, or is not there */
async function readResource({
  tools,
  requestAs,
  operation,
  call,
  target,
}: Running): Promise<Resource | null> {
  const reading = tools.resourceOf(operation);
  if (!reading) return null;
  const { args } = call;
  const params = Object.keys(reading.route.params?.shape ?? {});
  const own = Object.fromEntries(Object.entries(args).filter(([name]) => params.includes(name)));
  const read = requestOf(reading, readCall(reading, own), null);
  const response = await requestAs(target, read);
  if (response.status === 404) return null;
  if (response.status >= 400) {
    const { code, message } = JSON.parse(response.body) as { code: AppError['code']; message: string };
    throw new AppError(code, message);
  }
  return JSON.parse(response.body) as Resource;
}

export class MissingScope extends AppError {
  readonly scopes: readonly McpScope[];
  constructor(scopes: readonly McpScope[]) {
    super('forbidden', scopeMessage(scopes));
    this.scopes = scopes;
  }
}

export function requireScopes({ scopes: granted }: GrantCaller, needed: readonly McpScope[]): void {
  if (!needed.every((scope) => granted.has(scope))) throw new MissingScope(needed);
}

/** @throws AppError validation_error for a call that sends, and would send twice if it were repeated without a key */
function requireKey({ operation: { access, route }, call }: Running): void {
  const isKeyed = access.sends(call.args) === true && route.idempotency !== 'none';
  if (isKeyed && call.idempotencyKey === undefined) {
    throw invalid({ idempotency_key: ['is required for calls that send'] });
  }
}

/** The call, if the resource is still as it was read. */
function pinned({ operation: { route }, call }: Running, resource: Resource | null): OperationCall {
  const isPinned =
    route.etag === 'checked' && call.ifRevision === undefined && typeof resource?.revision === 'number';
  return isPinned ? { ...call, ifRevision: resource.revision } : call;
}

async function ask(
  running: Running,
  call: OperationCall,
  resource: Resource | null,
): Promise<OperationCall | ToolResult> {
  const { operation, caller, target, ctx, confirmations } = running;
  const { args, ifRevision, idempotencyKey, confirmation } = call;
  const answer = await confirmations.require({
    grantId: caller.grantId,
    tool: operation.name,
    args: withoutUndefined({
      ...args,
      if_revision: ifRevision,
      idempotency_key: idempotencyKey,
      account_id: target.accountId,
      brand_id: target.brand?.id ?? null,
    }),
    confirmation: typeof confirmation === 'string' ? confirmation : null,
    summary: summaryOf(operation, call, resource, target),
    ctx,
  });
  return answer === 'go on' ? call : answer;
}

/**
 * Asks the user, if the call must be confirmed. What is confirmed is the state of the resource that the user could see:
 * its revision goes with the request.
 * @returns the call to send, or what to show instead
 */
export async function confirmed(running: Running): Promise<OperationCall | ToolResult> {
  const { operation, call, caller, target } = running;
  const { access, route } = operation;
  // The route refuses these.
  if (route.roles && !route.roles.includes(target.role)) return call;
  requireKey(running);
  const mustAsk = access.asks(call.args);
  const mayBeLive = access.sends(call.args) === 'if live';
  if (!mustAsk && !mayBeLive) return call;
  const resource = await readResource(running);
  const isLive = mayBeLive && resource !== null && access.isLive(resource);
  if (isLive) requireScopes(caller, [...access.scopesFor(call.args, caller.scopes), 'mcp:send']);
  const sent = pinned(running, resource);
  return mustAsk || isLive ? ask(running, sent, resource) : sent;
}

/**
 * Asks the user about a call that its route refused, because it changes what is being sent.
 * @returns the call to send, or what to show instead
 */
export async function confirmedInUse(running: Running): Promise<OperationCall | ToolResult> {
  const { operation, call, caller } = running;
  requireScopes(caller, [...operation.access.scopesFor(call.args, caller.scopes), 'mcp:send']);
  const resource = await readResource(running);
  return ask(running, pinned(running, resource), resource);
}
