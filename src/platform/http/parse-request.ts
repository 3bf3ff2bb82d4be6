import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { invalid, notFound, type ValidationErrors } from '../../errors.ts';
import { keyProblem } from '../db/idempotency.ts';
import { DEFAULT_BODY_LIMIT, readJson } from './body.ts';
import { readMultipart } from './multipart.ts';
import type { RouteDefinition, UploadedFile } from './route.ts';
import { findUnstorable } from './storable.ts';
import { isFull, parseWith, withoutReadOnly, type Parsed } from './validation.ts';

export interface ParsedRequest {
  params: unknown;
  query: unknown;
  body: unknown;
  file: UploadedFile | null;
  idempotencyKey: string | null;
}

const noQuery = z.strictObject({});

function parseParams(route: RouteDefinition, raw: Record<string, string>): unknown {
  if (!route.params) return raw;
  const parsed = parseWith(route.params, raw, 'field');
  // An id that cannot be one names nothing.
  if (!parsed.ok) throw notFound('resource');
  return parsed.value;
}

function parseQuery(route: RouteDefinition, search: string): Parsed<unknown> {
  if (search === '' && !route.query) return { ok: true, value: {} };
  const errors: ValidationErrors = {};
  const pairs = [...new URLSearchParams(search)];
  const names = new Set<string>();
  for (const [name] of pairs) {
    if (names.has(name) && !isFull(errors)) errors[name] = ['must be given once'];
    names.add(name);
  }
  // Unlike an assignment, this keeps any name.
  const raw: unknown = Object.fromEntries(pairs);
  findUnstorable(raw, '', errors);
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  return parseWith(route.query ?? noQuery, raw, 'query parameter');
}

function parseKey(route: RouteDefinition, request: IncomingMessage): Parsed<string | null> {
  const key = request.headers['idempotency-key'];
  if (route.idempotency === 'none' || key === undefined) return { ok: true, value: null };
  const value = String(key);
  const problem = keyProblem(value);
  return problem ? { ok: false, errors: { 'Idempotency-Key': [problem] } } : { ok: true, value };
}

interface Payload {
  raw: unknown;
  file: UploadedFile | null;
  errors: ValidationErrors;
}

async function readPayload(route: RouteDefinition, request: IncomingMessage): Promise<Payload> {
  const errors: ValidationErrors = {};
  if (route.multipart) {
    const { fields, file } = await readMultipart(request, route.multipart);
    findUnstorable(fields, '', errors);
    return { raw: fields, file, errors };
  }
  if (!route.body) return { raw: undefined, file: null, errors };
  const { value, suspect } = await readJson(
    request,
    route.maxBodyBytes ?? DEFAULT_BODY_LIMIT,
    route.bodyOptional,
  );
  if (suspect) findUnstorable(value, '', errors);
  return { raw: value, file: null, errors };
}

function parseBody(route: RouteDefinition, payload: Payload): Parsed<unknown> {
  if (Object.keys(payload.errors).length > 0) return { ok: false, errors: payload.errors };
  if (!route.body) return { ok: true, value: undefined };
  return parseWith(route.body, withoutReadOnly(payload.raw, route.readOnlyFields ?? []), 'field');
}

function refuse(...parts: Parsed<unknown>[]): never {
  throw invalid(Object.assign({}, ...parts.map((part) => (part.ok ? {} : part.errors))) as ValidationErrors);
}

/**
 * Read and parse everything a route's handler takes. Problems of query, header and body are told together.
 * @param rawParams from the path
 * @param search the query string without its question mark
 * @throws AppError not_found, unsupported_media_type, payload_too_large, malformed_json, validation_error
 */
export async function parseRequest(
  route: RouteDefinition,
  request: IncomingMessage,
  rawParams: Record<string, string>,
  search: string,
): Promise<ParsedRequest> {
  const params = parseParams(route, rawParams);
  const query = parseQuery(route, search);
  const key = parseKey(route, request);
  const payload = await readPayload(route, request);
  const body = parseBody(route, payload);
  if (!query.ok || !key.ok || !body.ok) refuse(query, key, body);
  return { params, query: query.value, body: body.value, file: payload.file, idempotencyKey: key.value };
}
