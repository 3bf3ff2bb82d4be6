import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type pg from 'pg';
import { z } from 'zod';
import { defineIdempotentRoute, type RouteDefinition } from '../../src/platform/http/route.ts';

export const PREPARED_PATH = '/v1/my/probe/prepared';

/** What a test does in each phase of the route. */
export interface PhaseHooks {
  prepare?(name: string): Promise<void> | void;
  /** After the row is inserted. */
  create?(trx: pg.PoolClient, name: string): Promise<void> | void;
}

/**
 * A route that prepares a file in a folder, and inserts a row into `uploads` that refers to it. Any table would show
 * what commits together with an idempotency key.
 */
export function createPreparedRoute(folder: string, hooks: PhaseHooks): RouteDefinition {
  return defineIdempotentRoute({
    path: PREPARED_PATH,
    operationId: 'probePrepared',
    tag: 'Probe',
    summary: 'Prepare a file, then insert a row',
    auth: 'brand',
    testKeys: 'allowed',
    body: z.strictObject({ name: z.string() }),
    responses: { 201: { description: 'The new row.', schema: null } },
    async prepare({ body }) {
      const file = join(folder, randomUUID());
      await hooks.prepare?.(body.name);
      await writeFile(file, body.name);
      return file;
    },
    async handler({ body, tenant }, trx, file) {
      const { rows } = await trx.query<{ id: number }>(
        `insert into uploads (account_id, brand_id, filename, content_type, size, storage_key)
         values ($1, $2, $3, 'text/plain', 1, $4) returning id`,
        [tenant.accountId, tenant.brandId, body.name, file],
      );
      await hooks.create?.(trx, body.name);
      const id = rows[0]?.id ?? 0;
      return { status: 201, body: { id }, resourceId: id };
    },
    discard: (file) => rm(file),
    load: (_input, id) => Promise.resolve({ id }),
  });
}
