import {
  type InputRequiredResult,
  isInputRequiredResult,
  type CallToolResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';
import { AppError, invalid } from '../../errors.ts';
import type { GrantCaller, McpScope } from '../../platform/auth/grant-caller.ts';
import type { InnerRequest, InnerResponse } from '../../platform/http/inner-requests.ts';
import type { AssistantArguments } from '../../platform/http/route.ts';
import {
  confirmed,
  confirmedInUse,
  MissingScope,
  requireScopes,
  type Running,
  withoutUndefined,
} from './confirm-call.ts';
import { findOperation, requireOperation } from './find.ts';
import type { Operation } from './operations.ts';
import { type OperationCall, parseArguments, readCall, requestOf } from './requests.ts';
import { codeOf, plainResult, refusalOf, resultOfResponse } from './results.ts';
import { requireTarget, type ToolTarget } from './targets.ts';
import type { ToolDefinition, Tools } from './tools.ts';

export type { ToolTarget } from './targets.ts';

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
    /** What the call does, for the user: `Send a campaign "Spring sale" (Acme): {"id":7}`. */
    summary: string;
    ctx: ServerContext;
  }): Promise<'go on' | ToolResult>;
}

export interface ToolDeps {
  tools: Tools;
  /**
   * Sends a request to a route of this process as the caller.
   * @param isConfirmed whether the user has confirmed that it changes what is being sent
   */
  requestAs(target: ToolTarget, request: InnerRequest, isConfirmed?: boolean): Promise<InnerResponse>;
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

const genericArguments = z.strictObject({
  operation: z.string().max(100),
  arguments: z.record(z.string(), z.unknown()).default({}),
  brand_id: z.unknown().optional(),
  idempotency_key: z.unknown().optional(),
  confirmation: z.unknown().optional(),
});

/** The operation that a call of a tool means, with its arguments. */
interface Meant {
  operation: Operation;
  args: AssistantArguments;
}

/** @throws AppError validation_error, not_found, forbidden */
function meantBy(tools: Tools, found: ToolDefinition, given: AssistantArguments): Meant {
  if (found.kind === 'operation') return { operation: found.operation, args: given };
  const { operation: name, arguments: own, ...others } = parseArguments(genericArguments, given);
  const operation = requireOperation(tools, name);
  const { readOnly } = operation.access;
  if (readOnly !== (found.kind === 'read')) {
    throw invalid({ operation: [`is called with ${readOnly ? 'read_operation' : 'change_operation'}`] });
  }
  const { idempotency_key: key, ...rest } = others;
  // As in the API, a route that needs no key ignores it.
  const isKeyed = operation.route.idempotency !== 'none' && key !== undefined;
  return {
    operation,
    args: { ...own, ...withoutUndefined(rest), ...(isKeyed ? { idempotency_key: key } : {}) },
  };
}

/**
 * Returns the scopes that a call needs, as far as its arguments say so: for the challenge of a client that lacks one.
 * @param granted those of the caller
 * @returns none for calls that are refused anyway
 */
export function scopesOfCall(
  tools: Tools,
  granted: ReadonlySet<McpScope>,
  name: string,
  given: AssistantArguments,
): McpScope[] {
  const found = tools.find(name);
  if (!found || found.kind === 'find') return [];
  try {
    const { operation, args } = meantBy(tools, found, given);
    return operation.access.scopesFor(readCall(operation, args).args, granted);
  } catch (error) {
    if (error instanceof AppError) return [];
    throw error;
  }
}

const idOf = ({ route }: Operation, args: AssistantArguments): string | null => {
  const [first] = Object.keys(route.params?.shape ?? {});
  const value = first === undefined ? undefined : args[first];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : null;
};

function send({ requestAs, operation, call, target }: Running, isConfirmed = false): Promise<InnerResponse> {
  return requestAs(target, requestOf(operation, call, target.brand?.id ?? null), isConfirmed);
}

/** @throws AppError forbidden for what concerns brands that the user has not allowed */
function requireAllBrands(
  { access }: Operation,
  { args }: OperationCall,
  { hasAllBrands }: ToolTarget,
): void {
  if (!access.allBrands(args) || hasAllBrands) return;
  throw new AppError(
    'forbidden',
    'this applies to all brands of the account, and the user allowed only some',
  );
}

const isCall = (value: OperationCall | ToolResult): value is OperationCall => 'idempotencyKey' in value;

type Ran = Pick<ToolCall, 'result' | 'resourceId' | 'outcome'>;

/** What is shown instead of a response. */
function unsent(result: ToolResult, resourceId: string | null): Ran {
  const code = isInputRequiredResult(result) ? null : codeOf(result);
  const isAsked = code === null || code === 'confirmation_required';
  return { result, resourceId, outcome: isAsked ? 'asked' : code };
}

/** Whether a route refused a call because it would change what is being sent. */
function isRefusedInUse({ access }: Operation, { status, body }: InnerResponse): boolean {
  if (!access.sendsIfInUse || status !== 403) return false;
  return (JSON.parse(body) as { code?: unknown }).code === 'confirmation_required';
}

async function run(running: Running): Promise<Ran> {
  const { operation, caller, target } = running;
  const named = idOf(operation, running.call.args);
  const call = await confirmed(running);
  if (!isCall(call)) return unsent(call, named);
  let response = await send({ ...running, call });
  if (isRefusedInUse(operation, response)) {
    const asked = await confirmedInUse({ ...running, call });
    if (!isCall(asked)) return unsent(asked, named);
    response = await send({ ...running, call: asked }, true);
  }
  const { result, code } = resultOfResponse(response, {
    brand: operation.access.allBrands(call.args) ? null : target.brand,
    access: operation.access,
    mayReadMail: caller.scopes.has('mcp:inbox'),
    hasAllBrands: target.hasAllBrands,
  });
  const shown = (result.structuredContent as { result?: { id?: unknown } } | undefined)?.result?.id;
  const created = typeof shown === 'number' || typeof shown === 'string' ? String(shown) : null;
  return { result, resourceId: named ?? created, outcome: code };
}

/**
 * Calls a tool.
 * @returns refusals, too, as results with `isError`
 * @throws AppError not_found if there is no such tool
 */
export async function callTool(
  deps: ToolDeps,
  caller: GrantCaller,
  name: string,
  given: AssistantArguments,
  ctx: ServerContext,
): Promise<ToolCall> {
  const { tools } = deps;
  const found = tools.find(name);
  if (!found) throw new AppError('not_found', `there is no tool ${name.slice(0, 100)}`);
  const known: Omit<ToolCall, 'result' | 'outcome'> = { operation: null, target: null, resourceId: null };
  try {
    if (found.kind === 'find') {
      const { role } = requireTarget(caller, undefined, false);
      const result = plainResult(findOperation(tools, { role, scopes: caller.scopes }, given));
      return { ...known, result, outcome: 'ok' };
    }
    const { operation, args } = meantBy(tools, found, given);
    known.operation = operation.route.operationId;
    const call = readCall(operation, args);
    requireScopes(caller, operation.access.scopesFor(call.args, caller.scopes));
    const target = requireTarget(caller, args.brand_id, !operation.access.readOnly);
    known.target = target;
    requireAllBrands(operation, call, target);
    return { ...known, ...(await run({ ...deps, caller, operation, call, target, ctx })) };
  } catch (error) {
    if (error instanceof MissingScope) {
      const result = refusalOf(error, { required_scopes: error.scopes });
      return { ...known, result, outcome: 'insufficient_scope' };
    }
    if (!(error instanceof AppError)) throw error;
    return { ...known, result: refusalOf(error), outcome: error.code };
  }
}
