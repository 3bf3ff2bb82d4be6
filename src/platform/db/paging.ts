import type { Queryable } from './queryable.ts';

/** As many are counted one by one. */
export const EXACT_UP_TO = 100_000;

/** A number of rows; `estimated` where there are too many to count. */
export interface RowCount {
  total: number;
  estimated?: boolean;
}

/**
 * How many rows the planner thinks there are, and no fewer than are counted.
 * @param source what follows `from`, such as `messages m where m.brand_id = $1`
 */
export async function estimateRows(client: Queryable, source: string, values: unknown[]): Promise<RowCount> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `explain (format json) select 1 from ${source}`,
    values,
  );
  const planned = rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
  return { total: Math.max(planned, EXACT_UP_TO), estimated: true };
}

/** How many rows there are: exact up to 100,000, then estimated. @param source see {@link estimateRows} */
export async function countRows(client: Queryable, source: string, values: unknown[]): Promise<RowCount> {
  const { rows } = await client.query<{ count: number }>(
    `select count(*) from (select 1 from ${source} limit ${EXACT_UP_TO + 1}) counted`,
    values,
  );
  const count = rows[0]?.count ?? 0;
  return count <= EXACT_UP_TO ? { total: count } : estimateRows(client, source, values);
}
