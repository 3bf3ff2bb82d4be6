import type { Stage } from './stage.ts';

export interface StatementCost {
  calls: number;
  rows_per_call: number;
  us_per_call: number;
  /** For each unit of work. */
  us_each: number;
  statement: string;
}

const MAX_STATEMENTS = 25;

/** Forgets what statements have cost so far. */
export async function resetStatementCosts({ database: { pool } }: Stage): Promise<void> {
  await pool.query('select pg_stat_statements_reset()');
}

/**
 * The statements that took the most time since the last reset, by the wall clock.
 * @param count units of work that were done since
 */
export async function statementCosts({ database: { pool } }: Stage, count: number): Promise<StatementCost[]> {
  const { rows } = await pool.query<StatementCost>(
    `select calls::int, round((rows / calls::numeric), 1)::float8 as rows_per_call,
       round((total_exec_time * 1000 / calls)::numeric)::float8 as us_per_call,
       round((total_exec_time * 1000 / $1)::numeric, 1)::float8 as us_each,
       left(regexp_replace(query, '\\s+', ' ', 'g'), 160) as statement
     from pg_stat_statements order by total_exec_time desc limit ${MAX_STATEMENTS}`,
    [count],
  );
  return rows;
}
