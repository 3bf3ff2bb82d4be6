import knexFactory, { type Knex } from 'knex';
import { DBError, Model, type Constructor, type ModelOptions, type QueryBuilder } from 'objection';
import type pg from 'pg';
import type { AccountTenant, Tenant } from '../auth/tenant.ts';
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

type OfAccount = Pick<AccountTenant, 'accountId'>;
type OfBrand = Pick<Tenant, 'accountId' | 'brandId'>;

/** The driver's own error, whose `code` everybody goes by, rather than the library's around it. */
function throwNative(error: Error): never {
  throw error instanceof DBError ? error.nativeError : error;
}

/** The class of a model `M`, with the statics of {@link TenantModel}. */
type ClassOf<M extends TenantModel> = Constructor<M> & Pick<typeof TenantModel, keyof typeof TenantModel>;

/**
 * A table whose rows belong to an account: `id` bigint, `account_id`, most of them `brand_id`. For plain reading and
 * writing of single small rows; what is hot or set-based stays SQL.
 *
 * A subclass names its columns with `declare`; its properties are called as the columns, or it has
 * `columnNameMappers = snakeCaseMappers()`. In conditions, columns are named as in the database either way.
 */
export class TenantModel extends Model {
  /** Columns that are read; others stay in the database. */
  static readonly columns: string[];
  /**
   * Properties of type jsonb. Not the library's `jsonAttributes`: it would look into a client's JSON for marks of its
   * own (`isRawInstance`) and take it for a piece of the statement, and would parse a string that is the value.
   */
  static readonly jsonProperties: string[] = [];

  declare id: number;

  /** Writes jsonb values out; the driver would send their arrays as PostgreSQL's, which is right for `text[]` only. */
  override $setJson(json: Record<string, unknown>, options?: ModelOptions): this {
    const { jsonProperties } = this.constructor as typeof TenantModel;
    const given = jsonProperties.filter((name) => json[name] !== undefined && json[name] !== null);
    const written = given.map((name) => ({ [name]: JSON.stringify(json[name]) }));
    return super.$setJson(Object.assign({ ...json }, ...written) as object, options);
  }

  /** Rows of all accounts: for adding one, and for what an operator does. */
  static on<M extends TenantModel>(this: ClassOf<M>, db: Queryable): QueryBuilder<M> {
    // The library's types lose a generic class's model; what it builds is of `this`.
    const query = this.query(knexOn(db)) as unknown as QueryBuilder<M>;
    return query.onError(throwNative);
  }

  /** The account's rows and nobody else's: to be narrowed, changed or deleted. */
  static ofAccount<M extends TenantModel>(this: ClassOf<M>, tenant: OfAccount, db: Queryable) {
    return this.on<M>(db).where('account_id', tenant.accountId);
  }

  /** The brand's rows and nobody else's. */
  static ofBrand<M extends TenantModel>(this: ClassOf<M>, tenant: OfBrand, db: Queryable) {
    return this.ofAccount<M>(tenant, db).where('brand_id', tenant.brandId);
  }

  /** @returns null where the account has no such row */
  static async findInAccount<M extends TenantModel>(
    this: ClassOf<M>,
    tenant: OfAccount,
    id: number,
    db: Queryable,
  ): Promise<M | null> {
    const [row] = await this.ofAccount<M>(tenant, db).where('id', id).select(this.columns);
    return row ?? null;
  }
}
