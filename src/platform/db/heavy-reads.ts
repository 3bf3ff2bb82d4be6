import type pg from 'pg';
import { AppError } from '../../errors.ts';
import { openDatabase } from './database.ts';
import { onClient } from './queryable.ts';

/** Connections for statements that read many rows. They take nothing from the pool of the other requests. */
export const CONNECTIONS = 4;
const PER_ACCOUNT = 2;
const MAX_WAITING_PER_ACCOUNT = 8;
const WAIT_MS = 10_000;
const RETRY_AFTER_SECONDS = 5;
export const HEAVY_READ_MS = 5_000;
const WORK_MEMORY_MB = 64;

/** Runs statements that read many rows, on connections of their own and a few at a time. */
export interface HeavyReads {
  /**
   * Runs `work` on a connection whose statements may take five seconds each. An account has two connections at once;
   * further work waits for its turn.
   * @throws AppError rate_limited if too much of the account's work waits, or it has waited for ten seconds
   */
  run<T>(accountId: number, work: (client: pg.PoolClient) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** Whether PostgreSQL ended a statement at its time limit. */
export function isStatementTimeout(error: unknown): boolean {
  return (error as { code?: string }).code === '57014';
}

interface Waiting {
  accountId: number;
  begin: () => void;
}

function tooMany(): AppError {
  return new AppError(
    'rate_limited',
    'too many previews and filtered lists of contacts at once; try again soon',
    {
      headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) },
    },
  );
}

/** Gives accounts turns: those that wait begin in their order, as far as their account has a turn free. */
export function createTurns(limits: { total: number; perAccount: number; waiting: number; waitMs: number }) {
  const running = new Map<number, number>();
  const queue: Waiting[] = [];
  let total = 0;
  const isFree = (accountId: number) =>
    total < limits.total && (running.get(accountId) ?? 0) < limits.perAccount;

  const take = (accountId: number) => {
    total += 1;
    running.set(accountId, (running.get(accountId) ?? 0) + 1);
  };

  const giveBack = (accountId: number) => {
    total -= 1;
    const left = (running.get(accountId) ?? 1) - 1;
    if (left === 0) running.delete(accountId);
    else running.set(accountId, left);
    const next = queue.findIndex((waiting) => isFree(waiting.accountId));
    if (next >= 0) queue.splice(next, 1)[0]?.begin();
  };

  const wait = (accountId: number) =>
    new Promise<void>((resolve, reject) => {
      const waiting: Waiting = {
        accountId,
        begin() {
          clearTimeout(timer);
          take(accountId);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        queue.splice(queue.indexOf(waiting), 1);
        reject(tooMany());
      }, limits.waitMs);
      queue.push(waiting);
    });

  return async <T>(accountId: number, work: () => Promise<T>): Promise<T> => {
    if (isFree(accountId)) take(accountId);
    else if (queue.filter((waiting) => waiting.accountId === accountId).length >= limits.waiting)
      throw tooMany();
    else await wait(accountId);
    try {
      return await work();
    } finally {
      giveBack(accountId);
    }
  };
}

/** Opens the connections for heavy reads. The first one is made by the first read. */
export function openHeavyReads(url: string): HeavyReads {
  const database = openDatabase({
    url,
    poolMax: CONNECTIONS,
    applicationName: 'carillon heavy reads',
    statementTimeoutMs: HEAVY_READ_MS,
    workMemoryMb: WORK_MEMORY_MB,
  });
  const inTurn = createTurns({
    total: CONNECTIONS,
    perAccount: PER_ACCOUNT,
    waiting: MAX_WAITING_PER_ACCOUNT,
    waitMs: WAIT_MS,
  });
  return {
    run: (accountId, work) => inTurn(accountId, () => onClient(database.pool, work)),
    close: () => database.close(),
  };
}
