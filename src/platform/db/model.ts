import knexFactory, { type Knex } from 'knex';
import { DBError, Model, type Constructor, type ModelOptions, type QueryBuilder } from 'objection';
import type pg from 'pg';
import type { Queryable } from './queryable.ts';

/** Limits a query to the rows of one account. */
export interface AccountScope {
  accountId: number;
}

/** Limits a query to the rows of one brand of an account. */
export interface BrandScope extends AccountScope {
  brandId: number;
}

/** The class of a model `M`, with the statics of `Base`. */
type ClassOf<M extends RowModel, Base extends typeof RowModel = typeof RowModel> = Constructor<M> &
  Pick<Base, keyof Base>;

/**
 * A table with a bigint `id`. Rows that belong to an account have a {@link TenantModel}.
 *
 * Models read and write single rows of a resource. Statements that are hot or set-based, join or compute are written in
 * SQL. So is `on conflict do nothing`: if nothing is inserted, Objection returns the given row as if it were.
 *
 * - A feature's `model.ts` has the subclass and one function for each statement; other files call the functions.
 * - Each function takes `db` first: the pool, or the client of the caller's transaction. A model opens no transaction.
 * - A row has the names of its columns (`row.account_id`), in models and in the results of SQL alike. Parameters and
 *   computed values are in camel case.
 *
 * A subclass declares its columns with `declare`, which emits no fields that would hide the values.
 */
export class RowModel extends Model {
  /** The columns to read. Columns left out, such as the digest of a key, are never read. */
  static readonly columns: string[];
  /**
   * Columns of type jsonb. Objection's own `jsonAttributes` is unsafe here: it searches a client's JSON for its markers
   * (`isRawInstance`) and would run the match as a piece of the statement, and it would parse a value that is a string.
   * Every value given for them is stored as JSON. A change by an expression, such as `a || b`, is refused: write SQL.
   */
  static readonly jsonColumns: string[] = [];

  declare id: number;

  /** Serializes jsonb values. The driver would send an array as a PostgreSQL array, which suits only `text[]`. */
  override $setJson(json: Record<string, unknown>, options?: ModelOptions): this {
    const { jsonColumns } = this.constructor as typeof RowModel;
    const given = jsonColumns.filter((name) => json[name] !== undefined && json[name] !== null);
    const computed = given.find((name) => isExpression(json[name]));
    if (computed !== undefined) throw new Error(`${computed}: jsonb columns take values only`);
    const serialized = given.map((name) => ({ [name]: JSON.stringify(json[name]) }));
    return super.$setJson(Object.assign({ ...json }, ...serialized) as object, options);
  }

  /** Starts a query over all rows. */
  static on<M extends RowModel>(this: ClassOf<M>, db: Queryable): QueryBuilder<M> {
    // Objection's types lose the model of a generic class; the query it builds is for `this`.
    const query = this.query(knexOn(db)) as unknown as QueryBuilder<M>;
    return query.onError(throwNative);
  }

  /** Reads a row of any tenant. @returns null if there is none */
  static async findRow<M extends RowModel>(this: ClassOf<M>, db: Queryable, id: number): Promise<M | null> {
    const [row] = await this.on<M>(db).where('id', id).select(this.columns);
    return row ?? null;
  }
}

type TenantClass<M extends TenantModel> = ClassOf<M, typeof TenantModel>;

/**
 * A table whose rows belong to an account: it has an `account_id` and usually a `brand_id`. Start a query with
 * {@link ofAccount} or {@link ofBrand}, so that no other tenant's row can match. {@link on} is for inserts, and for
 * workflows and operators' commands, which work across tenants.
 */
export class TenantModel extends RowModel {
  /** Starts a query over the account's rows. */
  static ofAccount<M extends TenantModel>(this: TenantClass<M>, db: Queryable, scope: AccountScope) {
    return this.on<M>(db).where('account_id', scope.accountId);
  }

  /** Starts a query over the brand's rows. */
  static ofBrand<M extends TenantModel>(this: TenantClass<M>, db: Queryable, scope: BrandScope) {
    return this.ofAccount<M>(db, scope).where('brand_id', scope.brandId);
  }

  /** @returns null if the account has no such row */
  static async findInAccount<M extends TenantModel>(
    this: TenantClass<M>,
    db: Queryable,
    scope: AccountScope,
    id: number,
  ): Promise<M | null> {
    const [row] = await this.ofAccount<M>(db, scope).where('id', id).select(this.columns);
    return row ?? null;
  }

  /** @returns null if the brand has no such row */
  static async findInBrand<M extends TenantModel>(
    this: TenantClass<M>,
    db: Queryable,
    scope: BrandScope,
    id: number,
  ): Promise<M | null> {
    const [row] = await this.ofBrand<M>(db, scope).where('id', id).select(this.columns);
    return row ?? null;
  }
}

/** Whether a value is Objection's `raw`, `fn` or `ref`. JSON of a client has no methods. */
const isExpression = (value: unknown): boolean =>
  typeof (value as { toKnexRaw?: unknown }).toKnexRaw === 'function';

/** Throws the driver's error instead of Objection's wrapper: callers check its `code`. */
function throwNative(error: Error): never {
  throw error instanceof DBError ? error.nativeError : error;
}

type Callback = (error: Error | null, result?: pg.QueryResult) => void;

/** The part of the driver's connection that knex uses. */
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

/** A pool of one connection, which the caller owns. */
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

/** Each instance lives as long as its pool or client. */
const instances = new WeakMap<Queryable, Knex>();

/**
 * Knex on a pool, or on the client of a running transaction, whose statements are then part of that transaction.
 * It opens and releases no connection. Never call its `transaction` or `destroy`.
 */
function knexOn(db: Queryable): Knex {
  const existing = instances.get(db);
  if (existing) return existing;
  const knex = knexFactory({
    client: 'pg',
    connectionPool: poolOf(db),
    // Errors are logged, so their messages must not contain the statement's values.
    compileSqlOnError: false,
  });
  instances.set(db, knex);
  return knex;
}
