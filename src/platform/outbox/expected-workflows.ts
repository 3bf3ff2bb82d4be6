import type { Queryable } from '../db/queryable.ts';
import type { WorkflowStart } from '../temporal/contract.ts';

/** A row that needs a workflow, with all that is needed to start it. */
export interface ExpectedWorkflow {
  rowId: number;
  start: WorkflowStart;
}

/**
 * A kind of row that needs a workflow until the row is final. `engine_expected_by` is the time by which the row's
 * workflow must have been active. The workflow moves it to a later time with each step, and clears it with the last.
 */
export interface WorkflowSource {
  /** Name for logs, such as `webhook`. */
  name: string;
  /** SQL condition: whether `overdue` finds any row at `$1`. */
  overdueSql: string;
  /** Finds rows that are not final and whose `engine_expected_by` has passed, longest overdue first. */
  overdue(client: Queryable, asOf: Date, limit: number): Promise<ExpectedWorkflow[]>;
  /** Postpones the next check of these rows to `until`: their workflows are running or have just been started. */
  postpone(client: Queryable, rowIds: number[], until: Date): Promise<void>;
  /**
   * Makes up to `limit` rows overdue at `asOf`, after the engine lost its data. Skips rows that are final or overdue
   * already.
   * @returns how many; 0 if none is left
   */
  expectNow(client: Queryable, asOf: Date, limit: number): Promise<number>;
}

/** The columns from which a row's workflow is started. */
export interface RowOfWorkflow {
  id: number;
  accountId: number;
  brandId: number;
}

export interface TableOfWorkflows<Row extends RowOfWorkflow> {
  name: string;
  /**
   * Has the columns `id`, `account_id`, `brand_id` (see `hasBrand`) and `engine_expected_by`, which is null for rows
   * that are final.
   */
  table: string;
  /** Further columns of `Row`. */
  columns?: readonly Exclude<keyof Row & string, keyof RowOfWorkflow>[];
  /** False: rows belong to an account only, and `brandId` is 0. True by default. */
  hasBrand?: boolean;
  /** SQL condition for the rows that need a workflow; all rows by default. */
  needed?: string;
  start: (row: Row) => WorkflowStart;
}

/** Describes the workflows of a table that has one workflow for each row. */
export function workflowsOfTable<Row extends RowOfWorkflow>(of: TableOfWorkflows<Row>): WorkflowSource {
  const { name, table, hasBrand = true, needed = 'true', start } = of;
  const brand = hasBrand ? 'brand_id' : '0';
  const columns = ['id', 'account_id as "accountId"', `${brand} as "brandId"`, ...(of.columns ?? [])];
  const isOverdue = `${needed} and engine_expected_by <= $1`;
  return {
    name,
    overdueSql: `exists (select from ${table} where ${isOverdue})`,
    async overdue(client, asOf, limit) {
      const { rows } = await client.query<Row>(
        `select ${columns.join(', ')} from ${table}
         where ${isOverdue} order by engine_expected_by limit $2`,
        [asOf, limit],
      );
      return rows.map((row) => ({ rowId: row.id, start: start(row) }));
    },
    async postpone(client, rowIds, until) {
      await client.query(
        `update ${table} set engine_expected_by = $2
         where id = any($1::bigint[]) and ${needed} and engine_expected_by < $2`,
        [rowIds, until],
      );
    },
    async expectNow(client, asOf, limit) {
      const { rowCount } = await client.query(
        `update ${table} set engine_expected_by = $1 where id = any (array(
           select id from ${table} where ${needed} and engine_expected_by > $1 limit $2))`,
        [asOf, limit],
      );
      return rowCount ?? 0;
    },
  };
}
