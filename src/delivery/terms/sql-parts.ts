/** Parts of composed statements. */

/** Returns SQL for the value of a setting, an integer. */
export type Setting = (name: string) => string;

/** A common table expression: `name as (sql)`. */
export interface Cte {
  name: string;
  sql: string;
  /** Evaluate it once, not once for each row that it is joined to. */
  materialized?: true;
}

/** @param json SQL: the settings of the limits, by name, as jsonb */
export function settingIn(json: string): Setting {
  return (name) => `(${json} ->> '${name}')::int`;
}

/** SQL: expressions of a `with` clause, each after a comma. */
export function furtherCtes(ctes: readonly Cte[]): string {
  return ctes
    .map(({ name, sql, materialized }) => `, ${name} as ${materialized ? 'materialized ' : ''}(${sql}\n  )`)
    .join('');
}

/** SQL: expressions of a `with` clause, each with a comma after it. */
export const leadingCtes = (ctes: readonly Cte[]): string =>
  ctes.length === 0 ? '' : `${furtherCtes(ctes).slice(2)},`;
