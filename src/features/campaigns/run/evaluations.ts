/**
 * Evaluates audiences that depend on events, opens or clicks. One statement reads the events of all contacts, which
 * takes minutes. It gets its own connection, so that it does not hold up the rest of the worker, and accounts take
 * turns.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type DatabaseOptions, directUrlOf, openDatabase } from '../../../platform/db/database.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { FairGate } from '../../../platform/processes/fair-gate.ts';
import { evaluateAudience, type PinnedRow } from './audience-source.ts';
import { readCampaign, snapshotLock, wantsPage } from './page.ts';

/** Maximum number of connections for evaluations per process. */
export const CONNECTIONS = 3;
const SETTINGS = `set local work_mem = '64MB'; set local statement_timeout = '30min'`;
/** How often to check an evaluation by another process, in ms. */
const AGAIN_MS = 1_000;

export interface Evaluations {
  /**
   * Runs `work` in a transaction when it is the account's turn. Each account runs one at a time.
   * @param signal ends the wait; work that has begun continues
   * @throws the reason of `signal`
   */
  run<T>(accountId: number, work: (trx: Queryable) => Promise<T>, signal: AbortSignal): Promise<T>;
  close(): Promise<void>;
}

/** Opens the pool. It bypasses poolers, whose connections are few. The first evaluation makes the first connection. */
export function openEvaluations(
  options: Pick<DatabaseOptions, 'url' | 'directUrl' | 'serverChanges'>,
): Evaluations {
  const database = openDatabase({
    url: directUrlOf(options),
    serverChanges: options.serverChanges,
    poolMax: CONNECTIONS,
    applicationName: 'carillon audiences',
  });
  const gate = new FairGate({ slots: CONNECTIONS, perKey: 1 });
  return {
    run: (accountId, work, signal) =>
      gate.run(accountId, () => inTransaction(database.pool, work), { signal }),
    close: () => database.close(),
  };
}

async function isEvaluated(db: Queryable, campaignId: number): Promise<boolean> {
  const { rowCount } = await db.query('select 1 from campaign_contacts where campaign_id = $1 limit 1', [
    campaignId,
  ]);
  return rowCount !== 0;
}

/** Evaluates the audience of a campaign unless that is done already. @returns false if another process is doing it */
async function evaluateOnce(trx: Queryable, campaignId: number): Promise<boolean> {
  await trx.query(SETTINGS);
  // Waiting for the lock would occupy this connection until the other process is done.
  const { rows } = await trx.query<{ locked: boolean }>(
    'select pg_try_advisory_xact_lock($1, $2) as locked',
    snapshotLock(campaignId),
  );
  if (rows[0]?.locked !== true) return false;
  const row = await readCampaign(trx, campaignId);
  if (wantsPage(row) && !(await isEvaluated(trx, campaignId))) await evaluateAudience(trx, row);
  return true;
}

/**
 * Evaluates the audience of a campaign once, if it depends on events, opens or clicks. The snapshot may have begun
 * already: a process of an earlier version may have written pages without an evaluation.
 * @param stay how long it may wait for its turn, in ms, and the signal that ends the wait earlier
 * @returns false if its turn did not come in that time
 */
export async function evaluateInTurn(
  { pool, evaluations }: { pool: pg.Pool; evaluations: Evaluations },
  { id, account_id: accountId, audience }: PinnedRow,
  { forMs, signal }: { forMs: number; signal: AbortSignal },
): Promise<boolean> {
  if (!audience.evaluated || (await isEvaluated(pool, id))) return true;
  const waiting = AbortSignal.any([signal, AbortSignal.timeout(forMs)]);
  try {
    while (!(await evaluations.run(accountId, (trx) => evaluateOnce(trx, id), waiting))) {
      await delay(AGAIN_MS, undefined, { signal: waiting }).catch(() => undefined);
    }
    return true;
  } catch (error) {
    if (waiting.aborted && error === waiting.reason) return false;
    throw error;
  }
}

/** Deletes a page of an evaluated audience. @returns whether nothing is left */
export async function clearEvaluated(db: Queryable, campaignId: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `delete from campaign_contacts where campaign_id = $1 and contact_id = any (array(
       select contact_id from campaign_contacts where campaign_id = $1 limit 20000))`,
    [campaignId],
  );
  return (rowCount ?? 0) < 20_000;
}
