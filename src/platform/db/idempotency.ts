import { hash } from 'node:crypto';
import type pg from 'pg';
import { AppError } from '../../errors.ts';
import { inPreparedTransaction, type Queryable } from './queryable.ts';

/** Keys older than this count as unused; housekeeping removes their rows. */
export const IDEMPOTENCY_DAYS = 7;

/**
 * A longer text enters the fingerprint as its own hash, because serializing 4 MB as JSON takes longer than hashing it.
 */
const LONG_TEXT = 16 * 1024;

function canonical(value: unknown): unknown {
  // No payload contains NUL, so no other text can equal the hash.
  if (typeof value === 'string' && value.length > LONG_TEXT) return `\0${hash('sha256', value, 'base64')}`;
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== 'object' || value === null || value instanceof Date) return value;
  const sorted = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(sorted.map(([name, inner]) => [name, canonical(inner)]));
}

/**
 * SHA-256 of a parsed payload. Payloads with the same fields in another order have the same fingerprint.
 * @param payload JSON values, dates, and `undefined` for fields that were left out; defaults filled in
 */
export function fingerprintOf(payload: unknown): Buffer {
  return hash('sha256', JSON.stringify(canonical(payload)) ?? '', 'buffer');
}

export function keyConflict(): AppError {
  return new AppError('idempotency_conflict', 'this idempotency key was used with a different payload');
}

/** The refusal of a send-only key, which does not see what others did with the idempotency key. */
export function foreignKeyConflict(): AppError {
  return new AppError('idempotency_conflict', 'this idempotency key was used with another API key');
}

/** Whether two requests have the same payload. @param given null or undefined: a request without a fingerprint */
export const isSameFingerprint = (kept: Uint8Array, given: Uint8Array | null | undefined): boolean =>
  Buffer.compare(kept, given ?? Buffer.alloc(0)) === 0;

/**
 * The value of the column `endpoint`: each endpoint has its own idempotency keys, and test keys have theirs.
 * @param endpoint method and path of the route, such as `POST /v1/my/webhooks`
 * @param test whether the caller uses a test key
 */
export function keySpace(endpoint: string, test: boolean): string {
  return test ? `${endpoint} (test)` : endpoint;
}

/** A client's idempotency key and the request it was sent with. */
export interface IdempotentRequest {
  brandId: number;
  /** From {@link keySpace}. */
  endpoint: string;
  key: string;
  fingerprint: Buffer;
}

/** What the work returns. A replay loads the resource by `resourceId`. */
export interface CreatedResult {
  status: number;
  body: unknown;
  resourceId: number;
  /** Called after the commit and awaited, for wake-up hints and fences. A replay does not call it. */
  afterCommit?: () => void | Promise<void>;
}

export interface IdempotentResult {
  status: number;
  body: unknown;
  /** Whether an earlier request with this key had already done the work. */
  replayed: boolean;
}

/** The row of a key. */
export interface KeptKey {
  fingerprint: Buffer;
  status: number;
  resource_id: number;
}

/**
 * Takes the key inside the caller's transaction. If another transaction has just taken it, the insert waits: it
 * returns false after that one commits, and takes the key after a rollback.
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

/** Whether an earlier request has taken the key. */
export async function isKeyTaken(
  db: Queryable,
  request: Omit<IdempotentRequest, 'fingerprint'>,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `select 1 from idempotency_keys
     where brand_id = $1 and endpoint = $2 and key = $3 and created_at >= now() - make_interval(days => $4)`,
    [request.brandId, request.endpoint, request.key, IDEMPOTENCY_DAYS],
  );
  return rowCount === 1;
}

/**
 * Finds the outcome of an earlier request with the same key.
 * @returns null if there is none, or its key has expired
 * @throws AppError `idempotency_conflict` if its payload was different
 */
export async function findOutcome(
  db: Queryable,
  request: IdempotentRequest,
): Promise<{ status: number; resourceId: number } | null> {
  const { rows } = await db.query<KeptKey>(
    `select fingerprint, status, resource_id from idempotency_keys
     where brand_id = $1 and endpoint = $2 and key = $3 and created_at >= now() - make_interval(days => $4)`,
    [request.brandId, request.endpoint, request.key, IDEMPOTENCY_DAYS],
  );
  const [kept] = rows;
  if (!kept) return null;
  if (!isSameFingerprint(kept.fingerprint, request.fingerprint)) throw keyConflict();
  return { status: kept.status, resourceId: kept.resource_id };
}

/**
 * Loads the resource that an earlier request with the same key created.
 * @param kept from {@link findOutcome}
 * @param load the current state of the resource; null if it was removed
 * @throws AppError `not_found` if the resource was removed
 */
export async function replay(
  kept: { status: number; resourceId: number },
  load: (resourceId: number) => Promise<unknown>,
): Promise<IdempotentResult> {
  const body = await load(kept.resourceId);
  if (body === null || body === undefined) {
    throw new AppError('not_found', 'the resource that the first request with this key created was removed');
  }
  return { status: kept.status, body, replayed: true };
}

/**
 * Does work once per key. The work and the key commit together, so only a success is kept. Two requests with the same
 * key: the second waits until the first has committed, then replays it.
 * @param request null if the client sent no key: the work runs in a transaction all the same
 * @param create the work; it runs again after a `NotPreparedError`
 * @param load as for {@link replay}
 * @throws AppError `idempotency_conflict` if the key belongs to another payload; `not_found` if the resource was
 *   removed
 */
export async function withIdempotency(
  pool: pg.Pool,
  request: IdempotentRequest | null,
  create: (trx: pg.PoolClient) => Promise<CreatedResult>,
  load: (resourceId: number) => Promise<unknown>,
): Promise<IdempotentResult> {
  const created = await inPreparedTransaction(pool, async (trx) => {
    if (request && !(await takeKey(trx, request))) return null;
    const result = await create(trx);
    if (request) await keepOutcome(trx, request, result);
    return result;
  });
  if (created) {
    await created.afterCommit?.();
    return { status: created.status, body: created.body, replayed: false };
  }
  if (!request) throw new Error('unreachable: without a key the work is always done');
  const kept = await findOutcome(pool, request);
  if (!kept) throw new AppError('unavailable', 'the request this key belongs to has just expired; try again');
  return replay(kept, load);
}
