// A signal that waits in the outbox stands for later equal ones, and no wake-up is lost by that.
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { inTransaction, onClient, type Queryable } from '../../../src/platform/db/queryable.ts';
import { appendToOutbox, type OutboxPriority } from '../../../src/platform/outbox/append.ts';
import { claimEntries, deleteEntries, releaseEntries } from '../../../src/platform/outbox/claims.ts';
import type { OutboxEntry } from '../../../src/platform/temporal/contract.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';

/** Transactions of the race, and how many of them are under way at a time. */
const TIMES = 1_200;
const AT_ONCE = 6;
/** Transactions that wake the same workflow, one after another. The last of them is not helped by a later one. */
const OF_WORKFLOW = 2 * AT_ONCE;

let db: TestDatabase;

const pool = (): pg.Pool => db.database.pool;

beforeAll(async () => {
  db = await createTestDatabase({ poolMax: 12 });
  await pool().query('create table marks (n integer primary key)');
});
afterEach(() => pool().query('delete from outbox; delete from marks'));
afterAll(() => db.drop());

const wakeOf = (workflowId: string, signal = 'wake'): OutboxEntry => ({
  kind: 'signal_with_start',
  workflowType: 'noWorkerRunsThis',
  workflowId,
  signal,
});

const append = (trx: Queryable, entry: OutboxEntry | OutboxEntry[], priority: OutboxPriority = 1) =>
  appendToOutbox(trx, entry, priority, { reuseWaiting: true });

const wake = (entry: OutboxEntry | OutboxEntry[] = wakeOf('one'), priority?: OutboxPriority) =>
  inTransaction(pool(), (trx) => append(trx, entry, priority));

async function waiting(): Promise<string[]> {
  const { rows } = await pool().query<{ entry: string }>(
    `select concat_ws(' ', workflow_id, signal_name) as entry from outbox order by id`,
  );
  return rows.map(({ entry }) => entry);
}

describe('a signal of priority 1 that waits', () => {
  it('stands for equal ones of later transactions', async () => {
    await wake();
    await wake([wakeOf('one'), wakeOf('two')]);
    await wake([wakeOf('two'), wakeOf('three'), wakeOf('one')]);
    expect(await waiting()).toEqual(['one wake', 'two wake', 'three wake']);
  });

  it('does not stand for another signal, or another priority', async () => {
    await wake();
    await wake(wakeOf('one', 'cancel'));
    await wake(wakeOf('one'), 2);
    await wake(wakeOf('one'), 2);
    expect(await waiting()).toEqual(['one wake', 'one cancel', 'one wake', 'one wake']);
  });

  it('does not stand for others once a dispatcher has leased it, until it is given back', async () => {
    await wake();
    const [claim] = await claimEntries(pool(), 10, 60);
    await wake();
    expect(await waiting()).toHaveLength(2);
    await pool().query('delete from outbox where leased_until is null');
    await releaseEntries(pool(), [claim?.id ?? 0]);
    await wake();
    expect(await waiting()).toHaveLength(1);
  });

  it('does not stand for others once it is older than a second, so that it is sent at last', async () => {
    await wake();
    await pool().query(`update outbox set created_at = created_at - interval '2 seconds'`);
    await wake();
    expect(await waiting()).toHaveLength(2);
  });

  it('stands for none while a dispatcher takes it, and is not waited for', async () => {
    await wake();
    await inTransaction(pool(), async (dispatcher) => {
      expect(await claimEntries(dispatcher, 10, 60)).toHaveLength(1);
      await wake();
    });
    expect(await waiting()).toHaveLength(2);
  });

  it('is not sent before the transactions that rely on it have ended', async () => {
    await wake();
    await inTransaction(pool(), async (one) => {
      await append(one, wakeOf('one'));
      await inTransaction(pool(), async (other) => append(other, wakeOf('one')));
      expect(await claimEntries(pool(), 10, 60)).toEqual([]);
    });
    expect(await claimEntries(pool(), 10, 60)).toHaveLength(1);
    expect(await waiting()).toHaveLength(1);
  });

  it('is unknown to transactions beside the one that writes it: each writes its own', async () => {
    await inTransaction(pool(), async (one) => {
      await append(one, wakeOf('one'));
      await wake();
    });
    expect(await waiting()).toHaveLength(2);
  });

  it('is sent after everything was committed that relies on it, whatever dispatchers do meanwhile', async () => {
    const seen = new Set<number>();
    let begun = 0;
    let written = 0;
    let sent = 0;
    const write = async () => {
      for (let n = begun++; n < TIMES; n = begun++) {
        await inTransaction(pool(), async (trx) => {
          await trx.query('insert into marks values ($1)', [n]);
          await append(trx, wakeOf(`w/${Math.floor(n / OF_WORKFLOW)}`));
          // The transaction goes on, like one that counts its events.
          await trx.query('select count(*) from marks');
        });
        written += 1;
      }
    };
    /** Sends the signals. Each workflow then reads what is committed for it. */
    const dispatch = () =>
      onClient(pool(), async (client) => {
        for (;;) {
          const isLast = written === TIMES;
          const claims = await claimEntries(client, 64, 60);
          if (claims.length === 0 && isLast) return;
          sent += claims.length;
          const woken = claims.map(({ entry }) => Number(entry?.workflowId.slice(2)));
          const { rows } = await client.query<{ n: number }>(
            `select n from marks where n / ${OF_WORKFLOW} = any($1)`,
            [woken],
          );
          for (const { n } of rows) seen.add(n);
          const ids = claims.map(({ id }) => id);
          await deleteEntries(client, ids);
        }
      });
    await Promise.all([...Array.from({ length: AT_ONCE }, write), dispatch(), dispatch()]);
    expect(seen.size).toBe(TIMES);
    expect(sent).toBeLessThan(TIMES);
  });
});
