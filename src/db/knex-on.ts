import knexFactory, { type Knex } from 'knex';
import type pg from 'pg';
import type { Queryable } from './queryable.ts';

type Callback = (error: Error | null, result?: pg.QueryResult) => void;

/** What knex asks of a connection of the driver's. */
function connectionOf(db: Queryable) {
  return {
    query(statement: pg.QueryConfig, callback: Callback): void {
      db.query(statement).then(
        (result) => callback(null, result),
        (error: Error) => callback(error),
      );
    },
  };
}

/** A pool of the one connection, which stays with whoever has it. */
function poolOf(db: Queryable) {
  const connection = connectionOf(db);
  return {
    acquire: () => ({ promise: Promise.resolve(connection) }),
    release: () => true,
    destroy: () => Promise.resolve(),
    numFree: () => 0,
    numUsed: () => 1,
    numPendingAcquires: () => 0,
  };
}

/** Held by their pool or client: gone when it is. */
const known = new WeakMap<Queryable, Knex>();

/**
 * Knex on a pool, or on the client of a transaction that is under way: its statements are part of that transaction.
 * It opens, keeps and releases no connection. Do not call its `transaction`, nor `destroy`.
 */
export function knexOn(db: Queryable): Knex {
  const before = known.get(db);
  if (before) return before;
  const knex = knexFactory({
    client: 'pg',
    connectionPool: poolOf(db),
    // Errors are logged: they tell of the statement, never of its values.
    compileSqlOnError: false,
  });
  known.set(db, knex);
  return knex;
}
