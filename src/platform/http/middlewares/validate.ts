import type { IncomingMessage } from 'node:http';
import type { Logger } from 'pino';
import { z } from 'zod';
import { invalid, isFull, notFound, type ValidationErrors } from '../../../errors.ts';
import { DEFAULT_BODY_LIMIT, hasBody, readBody, readJson, streamBody } from '../body.ts';
import type { BodyBudgets, BodyMeter } from '../body-budgets.ts';
import { countedRequest } from '../counted-request.ts';
import type { HttpContext, Middleware } from '../context.ts';
import { parseIfMatch } from '../etag.ts';
import { RequestInput, type StoredFile, type UploadedFile } from '../input.ts';
import { readMultipart, storeMultipart } from '../multipart.ts';
import type { RouteDefinition } from '../route.ts';
import { findUnstorable } from '../../input/storable.ts';
import { type Copied, copiedFields, lostFields, withoutReadOnly } from '../../input/read-only.ts';
import { parseWith, type Parsed } from '../../input/validation.ts';

const noQuery = z.strictObject({});
const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,128}$/;

const NONE_COPIED = copiedFields({}, {}, {});

const limitOf = (route: RouteDefinition) => route.maxBodyBytes ?? DEFAULT_BODY_LIMIT;

function parseParams(route: RouteDefinition, raw: Record<string, string>): unknown {
  if (!route.params) return raw;
  const parsed = parseWith(route.params, raw, 'field');
  // A malformed id cannot name any resource.
  if (!parsed.ok) throw notFound('resource');
  return parsed.value;
}

function parseQuery(route: RouteDefinition, search: string): Parsed<unknown> {
  if (route.opaque || (search === '' && !route.query)) return { ok: true, value: {} };
  const errors: ValidationErrors = {};
  const pairs = [...new URLSearchParams(search)];
  const names = new Set<string>();
  for (const [name] of pairs) {
    if (names.has(name) && !isFull(errors)) errors[name] = ['must be given once'];
    names.add(name);
  }
  // Unlike an assignment, this keeps every name, `__proto__` included.
  const raw: unknown = Object.fromEntries(pairs);
  findUnstorable(raw, '', errors);
  if (Object.keys(errors).length > 0) return { ok: false, errors };
  return parseWith(route.query ?? noQuery, raw, 'query parameter');
}

function parseIdempotencyKey(route: RouteDefinition, request: IncomingMessage): Parsed<string | null> {
  const given = request.headers['idempotency-key'];
  if (route.idempotency === 'none' || given === undefined) return { ok: true, value: null };
  const key = String(given);
  if (IDEMPOTENCY_KEY.test(key)) return { ok: true, value: key };
  return { ok: false, errors: { 'Idempotency-Key': ['must have 1 to 128 printable ASCII characters'] } };
}

interface Payload {
  raw: unknown;
  file: UploadedFile | null;
  stored: StoredFile | null;
  errors: ValidationErrors;
  /** Ends the request's use of a stored file. */
  release: (() => Promise<void>) | null;
}

/** Whether no body is expected. If one arrives, it is discarded at once, and the response does not wait for it. */
function isBodiless({ opaque, method, body, multipart }: RouteDefinition): boolean {
  return opaque ? method !== 'POST' : !body && !multipart;
}

/** Counts the bytes that are read of a request. Most requests have no body, or read it once. */
function createMeters({ req, state }: HttpContext, { budgets, networkOf }: ValidateDeps) {
  const opened: BodyMeter[] = [];
  const releases: (() => void)[] = [];
  return {
    /** @param release called at the end of the request */
    onRelease: (release: () => void) => void releases.push(release),
    open(sender: 'stranger' | 'provider' = 'stranger'): BodyMeter {
      const accountId = state.principal?.tenant?.accountId;
      const meter =
        accountId === undefined
          ? budgets.open(sender, networkOf(req))
          : budgets.open('account', String(accountId));
      opened.push(meter);
      return meter;
    },
    release() {
      for (const meter of opened) meter.release();
      for (const release of releases) release();
    },
  };
}

type Meters = ReturnType<typeof createMeters>;

async function readPayload(
  route: RouteDefinition,
  ctx: HttpContext,
  budgets: BodyBudgets,
  openMeter: () => BodyMeter,
): Promise<Payload> {
  const request = countedRequest(ctx.req);
  const errors: ValidationErrors = {};
  const empty = { raw: undefined, file: null, stored: null, errors, release: null };
  if (isBodiless(route)) {
    if (hasBody(request)) request.resume();
    return empty;
  }
  if (route.opaque) return empty;
  if (route.multipart?.sink) {
    const tenant = ctx.state.principal?.tenant;
    if (!tenant) throw new Error(`${route.operationId}: a stored file needs an account`);
    const form = await storeMultipart(request, route.multipart, {
      sink: route.multipart.sink,
      tenant,
      budgets,
    });
    findUnstorable(form.fields, '', errors);
    return { ...empty, raw: form.fields, stored: form.stored, release: form.release };
  }
  if (route.multipart) {
    const { fields, file } = await readMultipart(request, route.multipart, openMeter());
    findUnstorable(fields, '', errors);
    return { ...empty, raw: fields, file };
  }
  const { value, suspect } = await readJson(request, limitOf(route), route.bodyOptional, openMeter());
  if (suspect) findUnstorable(value, '', errors);
  return { ...empty, raw: value };
}

/** How an opaque route reads its body. */
function bodyReaders(route: RouteDefinition, ctx: HttpContext, budgets: BodyBudgets, meters: Meters) {
  const requireOpaque = () => {
    if (!route.opaque) throw new Error('only an opaque route reads its body itself');
  };
  return {
    async readBytes(sender?: 'stranger' | 'provider') {
      requireOpaque();
      return readBody(countedRequest(ctx.req), limitOf(route), meters.open(sender));
    },
    openBody() {
      requireOpaque();
      meters.onRelease(budgets.enterUpload());
      return streamBody(countedRequest(ctx.req), limitOf(route));
    },
  };
}

interface ParsedBody {
  body: Parsed<unknown>;
  copied: Copied;
}

function parseBody(route: RouteDefinition, payload: Payload, key: Parsed<string | null>): ParsedBody {
  const { readOnlyFields = [], twins = {} } = route;
  const failed = (errors: ValidationErrors) => ({
    body: { ok: false as const, errors },
    copied: NONE_COPIED,
  });
  if (Object.keys(payload.errors).length > 0) return failed(payload.errors);
  if (!route.body) return { body: { ok: true, value: undefined }, copied: NONE_COPIED };
  const { writable, copied } = withoutReadOnly(payload.raw, readOnlyFields);
  const body = parseWith(route.body, writable, 'field');
  if (writable === payload.raw) return { body, copied: NONE_COPIED };
  if (route.params === null) {
    const given = Object.keys(writable as object);
    if (key.ok && key.value !== null) given.push('Idempotency-Key');
    const lost = lostFields(copied, twins, given);
    if (Object.keys(lost).length > 0) return failed({ ...(body.ok ? {} : body.errors), ...lost });
  }
  return { body, copied: copiedFields(copied, twins, writable) };
}

function refuse(...parts: Parsed<unknown>[]): never {
  throw invalid(Object.assign({}, ...parts.map((part) => (part.ok ? {} : part.errors))) as ValidationErrors);
}

export interface ValidateDeps {
  log: Logger;
  /** Base URL of the service; null means the address that the client used. */
  publicUrl: string | null;
  budgets: BodyBudgets;
  /** The network of a client; strangers in one network share a budget. */
  networkOf: (request: IncomingMessage) => string;
}

/**
 * Reads the request and parses it by the route's schemas into `ctx.state.input`. Reports the problems of query, header
 * and body together.
 * @throws AppError `not_found`, `unsupported_media_type`, `payload_too_large`, `malformed_json`, `validation_error`,
 *   `unavailable`
 */
export function validate(route: RouteDefinition, deps: ValidateDeps): Middleware {
  return async function validate(ctx, next) {
    const params = parseParams(route, ctx.params ?? {});
    const query = parseQuery(route, ctx.querystring);
    const key = parseIdempotencyKey(route, ctx.req);
    const ifMatch = parseIfMatch(route, ctx.req);
    // Do not read a large file for a request that fails anyway.
    if (route.multipart?.sink && (!query.ok || !key.ok)) refuse(query, key);
    const meters = createMeters(ctx, deps);
    const readers = bodyReaders(route, ctx, deps.budgets, meters);
    let payload: Payload | null = null;
    try {
      payload = await readPayload(route, ctx, deps.budgets, () => meters.open());
      const { body, copied } = parseBody(route, payload, key);
      if (!query.ok || !key.ok || !ifMatch.ok || !body.ok) refuse(query, key, ifMatch, body);
      const parsed = {
        params,
        query: query.value,
        body: body.value,
        copied,
        file: payload.file,
        stored: payload.stored,
        readBytes: readers.readBytes,
        openBody: readers.openBody,
        idempotencyKey: key.value,
        ifMatch: ifMatch.value,
      };
      ctx.state.input = new RequestInput(parsed, ctx, deps.log, deps.publicUrl);
      await next();
    } finally {
      meters.release();
      if (payload?.release) await payload.release();
    }
  };
}
