/** What a piece of work changes in all tables with rows of accounts, as lines that do not depend on ids and times. */
import type pg from 'pg';

type Row = Record<string, unknown>;

/** Rows by table and key. */
export type Snapshot = ReadonlyMap<string, ReadonlyMap<string, Row>>;

interface Table {
  name: string;
  columns: string[];
  key: string[];
}

/** Columns that say whose a row is, and the table that has their account. */
const SCOPES = {
  account_id: 'accounts',
  brand_id: 'brands',
  message_id: 'messages',
  contact_id: 'contacts',
  campaign_id: 'campaigns',
  flow_id: 'flows',
  webhook_id: 'webhooks',
} as const;

type Scope = keyof typeof SCOPES;

const scopes = Object.keys(SCOPES) as Scope[];

async function readTables(pool: pg.Pool): Promise<Table[]> {
  const { rows } = await pool.query<Table>(
    `select c.relname as name, array_agg(a.attname::text order by a.attnum) as columns,
       coalesce((
         select array_agg(k.attname::text) from pg_index i join pg_attribute k on k.attrelid = i.indrelid
           and k.attnum = any(i.indkey) where i.indrelid = c.oid and i.indisprimary), '{}') as key
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
     group by c.oid, c.relname order by c.relname`,
  );
  return rows.filter(
    ({ name, columns }) =>
      name === 'accounts' || name === 'handovers' || scopes.some((scope) => columns.includes(scope)),
  );
}

/** Reads all rows of all accounts. */
export async function takeSnapshot(pool: pg.Pool): Promise<Snapshot> {
  const tables = await readTables(pool);
  const { rows } = await pool.query<{ name: string; row: Row }>(
    tables
      .map(({ name }) => `select '${name}' as name, to_jsonb(t) as row from ${name} t`)
      .join('\nunion all '),
  );
  const snapshot = new Map(tables.map(({ name }) => [name, new Map<string, Row>()]));
  const keys = new Map(tables.map(({ name, key }) => [name, key]));
  for (const { name, row } of rows) {
    const found = snapshot.get(name);
    const key = keys.get(name) ?? [];
    let text = JSON.stringify(key.length > 0 ? key.map((column) => row[column]) : row);
    // Equal rows of a table without a key differ in their number.
    while (found?.has(text)) text += ' again';
    found?.set(text, row);
  }
  return snapshot;
}

/** Returns a function that finds the account of a row. */
function accountsOf(snapshots: readonly Snapshot[]): (table: string, row: Row) => unknown {
  const owners = new Map<string, unknown>();
  for (const snapshot of snapshots)
    for (const table of Object.values(SCOPES))
      for (const row of snapshot.get(table)?.values() ?? [])
        owners.set(`${table} ${String(row['id'])}`, row['account_id'] ?? row['id']);
  return (table, row) => {
    if (table === 'accounts') return row['id'];
    if (table === 'handovers') return owners.get(`messages ${String((row['message_ids'] as number[])[0])}`);
    const scope = scopes.find((each) => row[each] !== null && row[each] !== undefined);
    return scope && owners.get(`${SCOPES[scope]} ${String(row[scope])}`);
  };
}

const TIME = /^\d{4}-\d\d-\d\d(T[\d:.+-]+)?$/;

function plainValue(column: string, value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (column === 'id' || column.endsWith('_id') || column === 'owner') return 'id';
  if (typeof value === 'string' && TIME.test(value)) return 'time';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replace(/"(\w*_id)":\d+/g, '"$1":id').replace(/[\w+]+@example\.com|\+\d{10,}/g, 'address');
}

const columnsOf = (row: Row) =>
  Object.entries(row)
    .filter(([, value]) => value !== null)
    .map(([column, value]) => `${column}=${plainValue(column, value)}`)
    .join(' ');

function changesOf(before: Row, after: Row): string[] {
  return Object.keys(after)
    .filter((column) => JSON.stringify(before[column]) !== JSON.stringify(after[column]))
    .map(
      (column) => `${column}: ${plainValue(column, before[column])} → ${plainValue(column, after[column])}`,
    );
}

/**
 * The differences of two snapshots by account, sorted: `messages status: queued → sent` for a changed column,
 * `+ events …` for a new row, `- send_queue` for a removed one.
 */
export function rowChanges(before: Snapshot, after: Snapshot): ReadonlyMap<unknown, string[]> {
  const accountOf = accountsOf([before, after]);
  const changes = new Map<unknown, string[]>();
  const add = (table: string, row: Row, lines: readonly string[]) => {
    const account = accountOf(table, row);
    changes.set(account, [...(changes.get(account) ?? []), ...lines].sort());
  };
  for (const [name, rows] of after) {
    const old = before.get(name);
    for (const [key, row] of rows) {
      const was = old?.get(key);
      if (!was) add(name, row, [`+ ${name} ${columnsOf(row)}`]);
      else
        add(
          name,
          row,
          changesOf(was, row).map((change) => `${name} ${change}`),
        );
    }
    for (const [key, row] of old ?? []) if (!rows.has(key)) add(name, row, [`- ${name}`]);
  }
  return changes;
}
