import type { Database } from '../../src/platform/db/database.ts';

/** Searches all tables, in every column as text. @returns the names of the tables that contain the text */
export async function findText({ pool }: Database, text: string): Promise<string[]> {
  const { rows } = await pool.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
     where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace order by 1`,
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const { rowCount } = await pool.query(
      `select 1 from ${name} t where position($1 in t::text) > 0 limit 1`,
      [text],
    );
    if (rowCount) found.push(name);
  }
  return found;
}
