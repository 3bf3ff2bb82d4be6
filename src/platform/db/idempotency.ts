import { hash } from 'node:crypto';
import type pg from 'pg';
import { AppError } from '../../errors.ts';
import type { CreatedResult, JsonResult } from '../http/route.ts';
import { inTransaction, type Queryable } from './queryable.ts';

/** Kept keys are forgotten after this long; housekeeping removes the rows. */
export const IDEMPOTENCY_DAYS = 7;

export const REPLAYED = { 'Idempotent-Replayed': 'true' };

const PRINTABLE = /^[\x20-\x7e]{1,128}$/;

/** @returns what is wrong with a key; null where it is 1 to 128 printable ASCII characters */
export function keyProblem(key: string): string | null {
  return PRINTABLE.test(key) ? null : 'must have 1 to 128 printable ASCII characters';
}

function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const sorted = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, inner]) => [name, canonical(inner)]));
}

/**
 * What makes two requests the same: SHA-256 of the parsed payload, defaults filled in, whatever its key order.
 * @param payload JSON values, `undefined` (left out) and dates
 */
export function fingerprintOf(payload: unknown): Buffer {
  return hash('sha256', JSON.stringify(canonical(payload)) ?? '', 'buffer');
}

/** The fingerprint of a whole request: its path's ids, query, body, and the file it brought. */
export function requestFingerprint(request: {
  params: unknown;
  query: unknown;
  body: unknown;
  file: { filename: string; bytes: Buffer } | null;
}): Buffer {
  const { params, query, body, file } = request;
  const upload = file && { filename: file.filename, sha256: hash('sha256', file.bytes, 'hex') };
  return fingerprintOf({ params, query, body, upload });
}

/** @throws AppError idempotency_conflict unless both stand for the same payload */
export function requireSameFingerprint(kept: Uint8Array, given: Uint8Array): void {
  if (Buffer.compare(kept, given) === 0) return;
  throw new AppError('idempotency_conflict', 'this idempotency key was used with a different payload');
}

/** A key with what it stands for. */
export interface IdempotentRequest {
  brandId: number;
  /** Keys of different endpoints do not meet: `POST /v1/my/webhooks`. */
  endpoint: string;
  key: string;
  fingerprint: Buffer;
}

interface KeptRow {
  fingerprint: Buffer;
  status: number;
  resource_id: number;
}

/**
 * Take the key inside the caller's transaction. A twin that took it first is waited for: until it commits
 * (then this is false) or rolls back (then the key is ours).
 */
async function takeKey(trx: Queryable, request: IdempotentRequest): Promise<boolean> {
  const { rowCount } = await trx.query(
    `insert into idempotency_keys as kept (brand_id, endpoint, key, fingerprint, status, resource_id)
     values ($1, $2, $3, $4, 0, 0)
     on conflict (brand_id, endpoint, key) do update
       set fingerprint = excluded.fingerprint, status = 0, resource_id = 0, created_at = now()
       where kept.created_at < now() - make_interval(days => $5)`,
    [request.brandId, request.endpoint, request.key, request.fingerprint, IDEMPOTENCY_DAYS],
  );
  return rowCount === 1;
}

async function keepOutcome(
  trx: Queryable,
  request: IdempotentRequest,
  created: CreatedResult,
): Promise<void> {
  await trx.query(
    `update idempotency_keys set status = $4, resource_id = $5
     where brand_id = $1 and endpoint = $2 and key = $3`,
    [request.brandId, request.endpoint, request.key, created.status, created.resourceId],
  );
}

async function readKept(pool: Queryable, request: IdempotentRequest): Promise<KeptRow | null> {
  const { rows } = await pool.query<KeptRow>(
    `select fingerprint, status, resource_id from idempotency_keys
     where brand_id = $1 and endpoint = $2 and key = $3`,
    [request.brandId, request.endpoint, request.key],
  );
  return rows[0] ?? null;
}

async function replay(kept: KeptRow, load: (resourceId: number) => Promise<unknown>): Promise<JsonResult> {
  const body = await load(kept.resource_id);
  if (body === null || body === undefined) {
    throw new AppError('not_found', 'what the first request with this key made was removed since');
  }
  return { status: kept.status, body, headers: REPLAYED };
}

/**
 * Do something once per key: the work and the key commit together, so only a success is kept.
 * Of two at once one works, the other waits and gets its answer.
 * @param request null where the client sent no key: the work is done, in a transaction all the same
 * @param create the work
 * @param load the resource as it is now; null where it is gone
 * @throws AppError idempotency_conflict for another payload; not_found where the resource is gone
 */
export async function withIdempotency(
  pool: pg.Pool,
  request: IdempotentRequest | null,
  create: (trx: pg.PoolClient) => Promise<CreatedResult>,
  load: (resourceId: number) => Promise<unknown>,
): Promise<JsonResult> {
  const created = await inTransaction(pool, async (trx) => {
    if (request && !(await takeKey(trx, request))) return null;
    const result = await create(trx);
    if (request) await keepOutcome(trx, request, result);
    return result;
  });
  if (created) {
    created.afterCommit?.();
    return created;
  }
  if (!request) throw new Error('unreachable: without a key the work is always done');
  const kept = await readKept(pool, request);
  if (!kept) throw new AppError('unavailable', 'the request this key belongs to has just expired; try again');
  requireSameFingerprint(kept.fingerprint, request.fingerprint);
  return replay(kept, load);
}
