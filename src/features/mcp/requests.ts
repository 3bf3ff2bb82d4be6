/** Requests to routes from the arguments of tools. The routes check the values. */
import { randomBytes } from 'node:crypto';
import type { z } from 'zod';
import { invalid, notFound } from '../../errors.ts';
import type { InnerRequest } from '../../platform/http/inner-requests.ts';
import type { AssistantArguments, RouteDefinition } from '../../platform/http/route.ts';
import { parseWith } from '../../platform/input/validation.ts';
import type { Operation } from './operations.ts';

/** A call of an operation: the arguments of its route, and the others. */
export interface OperationCall {
  args: AssistantArguments;
  page: unknown;
  ifRevision: unknown;
  idempotencyKey: unknown;
  confirmation: unknown;
}

/**
 * Parses the arguments of a tool that is not a route.
 * @throws AppError validation_error
 */
export function parseArguments<S extends z.ZodType>(schema: S, args: unknown): z.output<S> {
  const parsed = parseWith(schema, args, 'field');
  if (!parsed.ok) throw invalid(parsed.errors);
  return parsed.value as z.output<S>;
}

/** Values that name nothing else in a path than a resource. `..` would lead to another route. */
const PATH_VALUE = /^[\w-]{1,200}$/;
const PAGE = /^(?:after:)?[1-9][0-9]{0,14}$/;

const takesPages = ({ paginated, query }: RouteDefinition) =>
  paginated === true && query !== null && 'page' in query.shape;

/**
 * Separates the arguments that are not those of the route.
 * @throws AppError validation_error for arguments that assistants cannot give
 */
export function readCall({ route, access }: Operation, given: AssistantArguments): OperationCall {
  const args: Record<string, unknown> = { ...given };
  const take = (name: string, applies: boolean) => {
    const value = applies ? args[name] : undefined;
    if (applies) delete args[name];
    return value;
  };
  for (const name of access.without) {
    if (name in args) throw invalid({ [name]: ['cannot be given by assistants'] });
  }
  take('brand_id', true);
  return {
    page: take('page', takesPages(route)),
    ifRevision: take('if_revision', route.etag === 'checked'),
    idempotencyKey: take('idempotency_key', route.idempotency !== 'none'),
    confirmation: take('confirmation', true),
    args,
  };
}

function queryValue(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw invalid({ [name]: ['must be a string'] });
}

function pathOf(route: RouteDefinition, args: AssistantArguments): string {
  return route.path.replace(/:([A-Za-z_]\w*)/g, (_match, name: string) => {
    const value = args[name];
    if (value === undefined) throw invalid({ [name]: ['is required'] });
    const text = queryValue(name, value);
    if (!PATH_VALUE.test(text)) throw notFound('resource');
    return text;
  });
}

/** @param page the `next_page` of a result, or the number of a page */
function addPage(query: URLSearchParams, page: string): void {
  if (!PAGE.test(page)) throw invalid({ page: ['must be the `next_page` of the page before'] });
  if (page.startsWith('after:')) query.set('after', page.slice('after:'.length));
  else query.set('page', page);
}

function queryOf(route: RouteDefinition, call: OperationCall, brandId: number | null): URLSearchParams {
  const { args, page } = call;
  const names = Object.keys(route.query?.shape ?? {});
  const isQuery = (name: string) => names.includes(name) || route.body === null;
  const params = Object.keys(route.params?.shape ?? {});
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(args)) {
    if (!params.includes(name) && isQuery(name) && value !== undefined)
      query.append(name, queryValue(name, value));
  }
  if (page !== undefined && page !== null) addPage(query, queryValue('page', page));
  // Contents are long, and can be read one by one.
  if (names.includes('summary') && !query.has('summary')) query.set('summary', 'true');
  // For a user, such a route would show all brands of the account; the user may have allowed only some of them.
  if (names.includes('brand_id') && brandId !== null) query.set('brand_id', String(brandId));
  return query;
}

/** The arguments that are neither in the path nor in the query string. */
function fieldsOf(route: RouteDefinition, args: AssistantArguments): Record<string, unknown> {
  const others = [...Object.keys(route.params?.shape ?? {}), ...Object.keys(route.query?.shape ?? {})];
  return Object.fromEntries(Object.entries(args).filter(([name]) => !others.includes(name)));
}

/** A form with the text of one argument as its file. */
function formOf({ multipart }: RouteDefinition, fileAsText: string, fields: Record<string, unknown>) {
  const { [fileAsText]: text, ...others } = fields;
  if (typeof text !== 'string')
    throw invalid({ [fileAsText]: [text === undefined ? 'is required' : 'must be a string'] });
  const boundary = randomBytes(18).toString('hex');
  const parts = Object.entries(others).map(([name, value]) => {
    const shown = typeof value === 'string' ? value : JSON.stringify(value);
    return `Content-Disposition: form-data; name="${encodeURIComponent(name)}"\r\n\r\n${shown}`;
  });
  const file = `Content-Disposition: form-data; name="${multipart?.file}"; filename="assistant.csv"\r\nContent-Type: text/csv\r\n\r\n${text}`;
  const body = [...parts, file].map((part) => `--${boundary}\r\n${part}\r\n`).join('');
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: `${body}--${boundary}--\r\n` };
}

function headersOf({ idempotencyKey, ifRevision }: OperationCall): Record<string, string> {
  const headers: Record<string, string> = {};
  if (idempotencyKey !== undefined)
    headers['idempotency-key'] = queryValue('idempotency_key', idempotencyKey);
  if (ifRevision === undefined) return headers;
  if (typeof ifRevision !== 'number' || !Number.isSafeInteger(ifRevision)) {
    throw invalid({ if_revision: ['must be an integer'] });
  }
  return { ...headers, 'if-match': `"${ifRevision}"` };
}

/**
 * Builds the request of a call.
 * @param brandId the brand that the call acts on
 * @throws AppError validation_error; not_found for an id that is none
 */
export function requestOf(
  { route, access }: Operation,
  call: OperationCall,
  brandId: number | null,
): InnerRequest {
  const query = String(queryOf(route, call, brandId));
  const path = pathOf(route, call.args) + (query === '' ? '' : `?${query}`);
  const request = { method: route.method, path, headers: headersOf(call), body: null };
  if (route.body === null) return request;
  const fields = fieldsOf(route, call.args);
  if (access.fileAsText === null) return { ...request, body: JSON.stringify(fields) };
  const { contentType, body } = formOf(route, access.fileAsText, fields);
  return { ...request, headers: { ...request.headers, 'content-type': contentType }, body };
}
