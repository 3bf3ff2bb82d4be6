import { AppError, tooMany } from '../../errors.ts';
import { type DatabaseOptions, directUrlOf, openDatabase } from '../db/database.ts';
import { onClient, type Queryable } from '../db/queryable.ts';
import { FairGate } from './fair-gate.ts';

/** Number of connections for statements that read many rows. They are separate from the pool for other requests. */
export const CONNECTIONS = 4;
const PER_ACCOUNT = 2;
const MAX_WAITING_PER_ACCOUNT = 8;
const WAIT_MS = 10_000;
const RETRY_AFTER_SECONDS = 5;
export const HEAVY_READ_MS = 5_000;
const WORK_MEMORY_MB = 64;
/** Time in ms after which a run may begin no further statement. */
const RUN_MS = 15_000;

/** Previews of segments and lists of contacts, for {@link HeavyRead.what}. */
export const READS_OF_CONTACTS = 'previews and filtered lists of contacts';

export interface HeavyRead {
  accountId: number;
  /** What clients call these reads, in the plural; part of the refusal's text. */
  what: string;
}

/** Runs statements that read many rows, a few at a time, on connections of their own. */
export interface HeavyReads {
  /**
   * Runs `work` on a connection whose statements may take five seconds each, and must begin within fifteen seconds. An
   * account has at most two connections at a time; further work waits for its turn.
   * @throws AppError rate_limited if too much of the account's work waits, or it has waited for ten seconds; unavailable
   *   if its statements take too long together
   */
  run<T>(read: HeavyRead, work: (client: Queryable) => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

const refusalOf = (what: string) =>
  tooMany(`too many ${what} at once: an account reads ${PER_ACCOUNT} at a time`, RETRY_AFTER_SECONDS);

/** Runs `work` with a client that refuses statements after `ms` milliseconds, and leaves no transaction open. */
export async function withDeadline<T>(
  client: Queryable,
  ms: number,
  work: (client: Queryable) => Promise<T>,
): Promise<T> {
  const end = performance.now() + ms;
  let isOver = false;
  const limited: Queryable = {
    query(...statement) {
      isOver = performance.now() > end;
      if (!isOver) return client.query(...statement);
      return Promise.reject(
        new AppError(
          'unavailable',
          'the filters take too long; use fewer filters, or ones that match fewer contacts',
        ),
      );
    },
  };
  try {
    return await work(limited);
  } finally {
    if (isOver) await client.query('rollback');
  }
}

/** Opens the connections for heavy reads, past a pooler. The first one is made by the first read. */
export function openHeavyReads(
  options: Pick<DatabaseOptions, 'url' | 'directUrl' | 'serverChanges'>,
): HeavyReads {
  const database = openDatabase({
    url: directUrlOf(options),
    serverChanges: options.serverChanges,
    poolMax: CONNECTIONS,
    applicationName: 'carillon heavy reads',
    statementTimeoutMs: HEAVY_READ_MS,
    workMemoryMb: WORK_MEMORY_MB,
  });
  const gate = new FairGate({
    slots: CONNECTIONS,
    perKey: PER_ACCOUNT,
    maxWaiting: MAX_WAITING_PER_ACCOUNT,
    waitMs: WAIT_MS,
  });
  return {
    run: ({ accountId, what }, work) =>
      gate.run(accountId, () => onClient(database.pool, (client) => withDeadline(client, RUN_MS, work)), {
        refusal: () => refusalOf(what),
      }),
    close: () => database.close(),
  };
}
