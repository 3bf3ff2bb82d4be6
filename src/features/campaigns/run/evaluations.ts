/**
 * Where audiences that depend on what contacts did are evaluated: one statement reads the events of all contacts, for
 * minutes. These statements have connections of their own, so that all else of the worker goes on, and accounts take turns.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { type DatabaseOptions, directUrlOf, openDatabase } from '../../../platform/db/database.ts';
import { inTransaction, type Queryable } from '../../../platform/db/queryable.ts';
import { FairGate } from '../../../platform/processes/fair-gate.ts';
import { evaluateAudience, type PinnedRow } from './audience-source.ts';
import { readCampaign, snapshotLock, wantsPage } from './page.ts';

/** Connections for evaluations of one process. */
export const CONNECTIONS = 3;
const SETTINGS = `set local work_mem = '64MB'; set local statement_timeout = '30min'`;
/** When to look again at an evaluation of another process. */
const AGAIN_MS = 1_000;

export interface Evaluations {
  /**
   * Runs `work` in a transaction when the account's turn has come. An account has one at a time.
   * @param signal ends the wait; work that has begun goes on
   * @throws the reason of `signal`
   */
  run<T>(accountId: number, work: (trx: Queryable) => Promise<T>, signal: AbortSignal): Promise<T>;
  close(): Promise<void>;
}

/** Opens the connections, past a pooler, whose connections are few. The first one is made by the first evaluation. */
export function openEvaluations(
  options: Pick<DatabaseOptions, 'url' | 'directUrl' | 'serverChanges'>,
): Evaluations {
  const database = openDatabase({
    url: directUrlOf(options),
    serverChanges: options.serverChanges,
    poolMax: CONNECTIONS,
    applicationName: 'carillon audiences',
  });
  const gate = new FairGate({ places: CONNECTIONS, perKey: 1 });
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

/** Evaluates the audience of a campaign if that is still to be done. @returns false if another process is doing it */
async function evaluateOnce(trx: Queryable, campaignId: number): Promise<boolean> {
  await trx.query(SETTINGS);
  // To wait for the lock would take a connection for as long as the other process has one.
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
 * Evaluates the audience of a campaign, once, if it depends on what contacts did. It may be at any place of its contacts:
 * a former process may have begun without an evaluation.
 * @param stay for how long, in milliseconds, it may wait for its turn, and what ends the wait earlier
 * @returns false if its turn has not come
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

/** Removes an evaluated audience, a page at a time. @returns whether nothing is left */
export async function clearEvaluated(db: Queryable, campaignId: number): Promise<boolean> {
  const { rowCount } = await db.query(
    `delete from campaign_contacts where campaign_id = $1 and contact_id = any (array(
       select contact_id from campaign_contacts where campaign_id = $1 limit 20000))`,
    [campaignId],
  );
  return (rowCount ?? 0) < 20_000;
}
