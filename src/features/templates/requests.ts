/** How requests change campaigns and flows: with an idempotency key, in a transaction, with contents compiled beside it. */
import type pg from 'pg';
import type { Tenant } from '../../platform/auth/tenant.ts';
import { prepareOnce, withIdempotency } from '../../platform/db/idempotency.ts';
import type { idempotentRequest } from '../../platform/http/middlewares/idempotency.ts';
import type { RouteInput } from '../../platform/http/route.ts';
import { type CompiledContents, withCompiled } from './compiled.ts';
import type { TemplateDeps } from './pin.ts';

export interface RequestDeps<Row> {
  pool: pg.Pool;
  templates: Pick<TemplateDeps, 'contents'>;
  /** Finds the idempotency key of a request. */
  requestOf: typeof idempotentRequest;
  present(trx: pg.PoolClient, row: Row): Promise<unknown>;
  /** Presents the resource to a repeated request. */
  load(tenant: Tenant, id: number): Promise<unknown>;
  /** Wakes what acts on the change, after its commit. */
  wake(row: Row): void;
}

/**
 * Runs a POST in the transaction that keeps its idempotency key.
 * @param prepare reads what takes a while, before the transaction; a repeated request does not need it
 */
export async function once<Row extends { id: number }, Body, Found>(
  { pool, templates, requestOf, present, load, wake }: RequestDeps<Row>,
  input: RouteInput<unknown, unknown, Body, Tenant>,
  endpoint: string,
  status: number,
  prepare: () => Promise<Found>,
  work: (trx: pg.PoolClient, prepared: Found, compiled: CompiledContents) => Promise<Row>,
) {
  const request = requestOf(input, `POST ${endpoint}`);
  const prepared = await prepareOnce(pool, request, prepare);
  return withCompiled({ templates }, (compiled) =>
    withIdempotency(
      pool,
      request,
      async (trx) => {
        const row = await work(trx, await prepared(), compiled);
        const body = await present(trx, row);
        return { status, body, resourceId: row.id, afterCommit: () => wake(row) };
      },
      (id) => load(input.tenant, id),
    ),
  );
}
