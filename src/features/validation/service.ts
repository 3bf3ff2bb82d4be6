import type pg from 'pg';
import { AppError, invalid, notFound } from '../../errors.ts';
import { isTestCaller, type Tenant } from '../../platform/auth/tenant.ts';
import { refuseTestKey } from '../../platform/auth/test-keys.ts';
import type { BrandScope } from '../../platform/db/model.ts';
import type { Page, RowCount } from '../../platform/db/paging.ts';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import { isStatementTimeout } from '../../platform/db/statement-limit.ts';
import { HEAVY_READ_MS, type HeavyReads } from '../../platform/processes/heavy-reads.ts';
import { appendToOutbox } from '../../platform/outbox/append.ts';
import { requireCapability } from '../accounts/service.ts';
import {
  type Audience,
  audienceOf,
  type CandidateCount,
  candidatesOf,
  countCandidates,
  digestOf,
  type PinnedFilters,
  requireKnown,
} from './audience.ts';
import { fundingOf, priceOf, requireFunds } from './funds.ts';
import {
  countUnfinished,
  findByKey,
  findOperation,
  findOperations,
  insertOperation,
  lockAccount,
  type OperationRow,
  readOperation,
  resumeRow,
  uncheckedChargeable,
} from './model.ts';
import { centsOf, presentOperation } from './presenter.ts';
import type { AudienceBody, Operation, OperationStatus, Quote } from './schema.ts';
import { endOperation } from './settle.ts';
import { validationStart, validationWake } from './workflow.ts';

export { forgetValidatedContact } from './items.ts';

/** Maximum number of an account's operations that wait or run. */
export const MAX_UNFINISHED = 10;
/** How long after its end a failed operation may be resumed. A day later, its items begin to be removed. */
const RESUMABLE_MS = 89 * 86_400_000;

export interface ValidationDeps {
  pool: pg.Pool;
  /** Reads audiences for which many contacts may have to be read. */
  heavyReads: HeavyReads;
}

/** Whether the audience is a list or a segment, so that the request does not name its contacts. */
const isHeavy = ({ kind }: Pick<Audience, 'kind'>) => kind === 'list_id' || kind === 'segment_id';

/**
 * Reads the audience of a request. How many contacts a segment has says what they have, so test keys name contacts.
 * @throws AppError test_key
 */
function readAudience(tenant: Tenant, body: AudienceBody): Audience {
  const audience = audienceOf(body);
  if (isHeavy(audience)) refuseTestKey(tenant, 'validate lists and segments');
  return audience;
}

/** Runs `work` in a transaction, on a connection for heavy reads if the audience may be large. */
async function counting<T>(
  { pool, heavyReads }: ValidationDeps,
  { accountId }: BrandScope,
  audience: Audience,
  work: (trx: Queryable) => Promise<T>,
): Promise<T> {
  if (!isHeavy(audience)) return inTransaction(pool, work);
  try {
    return await heavyReads.run({ accountId, what: 'counts of contacts' }, async (client) => {
      await client.query('begin');
      try {
        const result = await work(client);
        await client.query('commit');
        return result;
      } catch (error) {
        await client.query('rollback').catch(() => undefined);
        throw error;
      }
    });
  } catch (error) {
    if (!isStatementTimeout(error)) throw error;
    const seconds = HEAVY_READ_MS / 1_000;
    throw invalid({ [audience.kind]: [`takes longer than ${seconds} seconds to count`] });
  }
}

interface Counted extends CandidateCount {
  pinned: PinnedFilters | null;
}

async function countAudience(
  db: Queryable,
  tenant: BrandScope,
  audience: Audience,
  asOf: Date,
): Promise<Counted> {
  const pinned = await requireKnown(db, tenant, audience);
  const source = await candidatesOf(db, tenant, audience, pinned, asOf);
  return { ...(await countCandidates(db, tenant, source, asOf)), pinned };
}

/**
 * Returns what validating an audience would cost. Reserves nothing.
 * @throws AppError forbidden, test_key, validation_error, rate_limited
 */
export function quoteValidation(deps: ValidationDeps, tenant: Tenant, body: AudienceBody): Promise<Quote> {
  const audience = readAudience(tenant, body);
  const test = isTestCaller(tenant.actor);
  return counting(deps, tenant, audience, async (trx) => {
    await requireCapability(trx, tenant, 'validation');
    const { candidates, reusable } = await countAudience(trx, tenant, audience, new Date());
    const price = test ? 0 : await priceOf(trx, tenant.accountId);
    const maximum = test ? 0 : (candidates - reusable) * price;
    const { balanceMillicents, state } = await fundingOf(trx, tenant.accountId, maximum);
    return {
      candidate_count: candidates,
      reusable_count: test ? 0 : reusable,
      unit_price_cents: centsOf(price),
      maximum_charge_cents: centsOf(maximum),
      wallet_balance_cents: Math.floor(centsOf(balanceMillicents)),
      funding_state: state,
    };
  });
}

const workflowOf = (row: OperationRow) => ({
  id: row.id,
  accountId: row.account_id,
  brandId: row.brand_id,
});

interface Started {
  row: OperationRow;
  /** Whether the key belongs to an operation that was started before. */
  replayed: boolean;
}

/** Resumes a failed operation with a new reservation for the rest. Its price stays the same. */
async function resume(trx: Queryable, id: number): Promise<OperationRow> {
  const row = (await readOperation(trx, id, { lock: true })) as OperationRow;
  const finishedAt = row.finished_at?.getTime() ?? 0;
  if (row.status !== 'failed' || finishedAt < Date.now() - RESUMABLE_MS) return row;
  const millicents = uncheckedChargeable(row) * row.price_millicents;
  await requireFunds(trx, row.account_id, millicents);
  const resumed = await resumeRow(trx, row, millicents);
  await appendToOutbox(trx, validationWake(workflowOf(resumed)));
  return resumed;
}

interface StartRequest {
  tenant: Tenant;
  audience: Audience;
  digest: Buffer;
  key: string | null;
  test: boolean;
}

/** @throws AppError idempotency_conflict */
async function findStarted(
  db: Queryable,
  { tenant, key, test, digest }: StartRequest,
): Promise<OperationRow | null> {
  const found = key === null ? null : await findByKey(db, tenant, { key, test, digest });
  if (found && !found.same) {
    throw new AppError('idempotency_conflict', 'this idempotency key was used with another audience');
  }
  return found;
}

/** @throws AppError conflict */
async function requireRoom(trx: Queryable, { tenant, key, test, digest }: StartRequest): Promise<void> {
  const unfinished = await countUnfinished(trx, tenant, { test, digest });
  if (key === null && unfinished.same > 0) {
    throw new AppError('conflict', 'a validation of this audience has not ended yet');
  }
  if (unfinished.all >= MAX_UNFINISHED) {
    throw new AppError(
      'conflict',
      `${MAX_UNFINISHED} validations of the account are waiting or running; wait until one ends`,
    );
  }
}

/** Handles a request whose key is already known. */
async function repeat(trx: Queryable, found: OperationRow): Promise<Started> {
  return { row: found.status === 'failed' ? await resume(trx, found.id) : found, replayed: true };
}

/**
 * Keeps other starts of the account waiting until the commit.
 * @returns the operation that has the key; null if a new one may start
 * @throws AppError conflict, idempotency_conflict
 */
async function admit(trx: Queryable, request: StartRequest): Promise<Started | null> {
  await lockAccount(trx, request.tenant.accountId);
  const found = await findStarted(trx, request);
  if (found) return repeat(trx, found);
  await requireRoom(trx, request);
  return null;
}

/** Fixes the price and reserves the maximum charge, in the caller's transaction. */
async function reserveAndStart(
  trx: Queryable,
  { tenant, audience, digest, key, test }: StartRequest,
  { pinned, asOf, ...counted }: Counted & { asOf: Date },
): Promise<Started> {
  const priceMillicents = test ? 0 : await priceOf(trx, tenant.accountId);
  await requireFunds(trx, tenant.accountId, (counted.candidates - counted.reusable) * priceMillicents);
  const row = await insertOperation(trx, tenant, {
    audience,
    digest,
    pinned,
    test,
    asOf,
    counted,
    priceMillicents,
    idempotencyKey: key,
  });
  await appendToOutbox(trx, { kind: 'start', ...validationStart(workflowOf(row)) });
  return { row, replayed: false };
}

/** Counts between two transactions, so that no other start waits while a large audience is counted. */
async function startOrRepeat(deps: ValidationDeps, request: StartRequest): Promise<Started> {
  const { tenant, audience } = request;
  const known = await inTransaction(deps.pool, (trx) => admit(trx, request));
  if (known) return known;
  const asOf = new Date();
  const counted = await counting(deps, tenant, audience, (trx) => countAudience(trx, tenant, audience, asOf));
  if (counted.candidates === 0) {
    throw invalid({ [audience.kind]: ['has no contact with an email address'] });
  }
  return inTransaction(
    deps.pool,
    async (trx) => (await admit(trx, request)) ?? reserveAndStart(trx, request, { ...counted, asOf }),
  );
}

/**
 * Starts a validation, or returns the one that has the key; if that one failed, it is resumed. Wake `outbox`
 * afterwards.
 * @param key lives as long as the operation
 * @throws AppError forbidden, test_key, validation_error, conflict, idempotency_conflict, insufficient_funds,
 *   spend_cap_reached
 */
export async function startValidation(
  deps: ValidationDeps,
  tenant: Tenant,
  body: AudienceBody,
  key: string | null,
): Promise<{ operation: Operation; replayed: boolean }> {
  const audience = readAudience(tenant, body);
  const test = isTestCaller(tenant.actor);
  const request = { tenant, audience, digest: digestOf(audience), key, test };
  await requireCapability(deps.pool, tenant, 'validation');
  const { row, replayed } = await startOrRepeat(deps, request);
  return { operation: presentOperation(row), replayed };
}

/** @throws AppError not_found if the brand has no such operation; test_key */
export async function requireOperation(db: Queryable, tenant: Tenant, id: number): Promise<OperationRow> {
  const found = await findOperation(db, tenant, id);
  if (!found) throw notFound('validation operation');
  if (!found.test) refuseTestKey(tenant, 'use validations of live keys');
  return found;
}

/** @throws AppError not_found, test_key */
export async function getOperation(db: Queryable, tenant: Tenant, id: number): Promise<Operation> {
  return presentOperation(await requireOperation(db, tenant, id));
}

/** Lists the operations of a brand, newest first. */
export async function listOperations(
  db: Queryable,
  tenant: Tenant,
  status: OperationStatus | undefined,
  page: Page,
): Promise<{ operations: Operation[]; count: RowCount }> {
  const filters = { status, testOnly: isTestCaller(tenant.actor) };
  const { rows, count } = await findOperations(db, tenant, filters, page);
  return { operations: rows.map(presentOperation), count };
}

/**
 * Cancels an operation: written results stay and are charged, and the rest is not checked. Wake `outbox` after the
 * commit.
 * @throws AppError not_found, test_key; invalid_transition if it has ended
 */
export async function cancelOperation(trx: Queryable, tenant: Tenant, id: number): Promise<Operation> {
  await requireOperation(trx, tenant, id);
  const canceled = await endOperation(trx, id, 'canceled');
  if (!canceled) {
    const { status } = await requireOperation(trx, tenant, id);
    throw new AppError('invalid_transition', `the validation has already ended: it is ${status}`);
  }
  await appendToOutbox(trx, validationWake(workflowOf(canceled)));
  return presentOperation(canceled);
}
