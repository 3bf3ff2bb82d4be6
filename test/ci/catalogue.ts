/** What PostgreSQL's catalogue says about a schema, in the words of PostgreSQL and in the order of names. */
import type pg from 'pg';

export interface Column {
  name: string;
  type: string;
  notNull: boolean;
  /** An expression: the default or, if it is generated, what it is generated from. */
  expression: string | null;
  /** `a`: always, `d`: by default, empty: no. */
  identity: string;
  /** `s`: stored, `v`: virtual, empty: no. */
  generated: string;
  comment: string | null;
}

/** Part of a table, or an object with a definition of its own. */
export interface Defined {
  name: string;
  definition: string;
  comment: string | null;
}

export interface Table {
  name: string;
  comment: string | null;
  unlogged: boolean;
  /** Null: not partitioned. */
  partitionKey: string | null;
  /** Such as `fillfactor=50`. */
  storage: string[];
  columns: Column[];
  constraints: Defined[];
  indexes: Defined[];
  triggers: Defined[];
}

/** Partitions are left out: tables have other ones each day. */
export interface Catalogue {
  tables: Table[];
  sequences: Defined[];
  types: Defined[];
  functions: Defined[];
  views: Defined[];
}

/** Selects objects as {@link Defined}. */
const defined = (name: string, definition: string, comment: string) => `json_build_object(
  'name', ${name}, 'definition', ${definition}, 'comment', ${comment})`;

/** Objects of a table, as an array. */
const partsOf = (part: string, name: string, from: string) => `coalesce((
  select json_agg(${part} order by ${name}) from ${from}), '[]')`;

const columns = partsOf(
  `json_build_object('name', quote_ident(a.attname), 'type', format_type(a.atttypid, a.atttypmod),
    'notNull', a.attnotnull, 'identity', a.attidentity, 'generated', a.attgenerated,
    'expression', pg_get_expr(d.adbin, d.adrelid, true), 'comment', col_description(c.oid, a.attnum))`,
  'a.attnum',
  `pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
   where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped`,
);
// From PostgreSQL 18 on, each "not null" is a constraint ("n"). Those of triggers ("t") are shown as triggers.
const constraints = partsOf(
  defined(
    'quote_ident(k.conname)',
    'pg_get_constraintdef(k.oid, true)',
    `obj_description(k.oid, 'pg_constraint')`,
  ),
  `array_position('{p,u,x,c,f}', k.contype::text), k.conname::text collate "C"`,
  `pg_constraint k where k.conrelid = c.oid and k.conparentid = 0 and k.contype not in ('n', 't')`,
);
const indexes = partsOf(
  defined(
    'quote_ident(x.relname)',
    'pg_get_indexdef(i.indexrelid, 0, true)',
    `obj_description(x.oid, 'pg_class')`,
  ),
  'x.relname::text collate "C"',
  `pg_index i join pg_class x on x.oid = i.indexrelid
   where i.indrelid = c.oid and not exists (
     select 1 from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))`,
);
const triggers = partsOf(
  defined('quote_ident(t.tgname)', 'pg_get_triggerdef(t.oid, true)', `obj_description(t.oid, 'pg_trigger')`),
  't.tgname::text collate "C"',
  'pg_trigger t where t.tgrelid = c.oid and not t.tgisinternal and t.tgparentid = 0',
);

const tablesSql = `
  select quote_ident(c.relname) as name, obj_description(c.oid, 'pg_class') as comment,
    c.relpersistence = 'u' as unlogged, pg_get_partkeydef(c.oid) as "partitionKey",
    coalesce(c.reloptions, '{}') as storage, ${columns} as columns, ${constraints} as constraints,
    ${indexes} as indexes, ${triggers} as triggers
  from pg_class c
  where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  order by c.relname::text collate "C"`;

// Those of identity columns ("i") belong to their columns.
const sequencesSql = `
  select quote_ident(c.relname) as name, obj_description(c.oid, 'pg_class') as comment,
    format('%s start %s increment %s cache %s', format_type(s.seqtypid, null), s.seqstart, s.seqincrement, s.seqcache)
      as definition
  from pg_class c join pg_sequence s on s.seqrelid = c.oid
  where c.relnamespace = $1::regnamespace
    and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'i')
  order by c.relname::text collate "C"`;

const typesSql = `
  select quote_ident(t.typname) as name, obj_description(t.oid, 'pg_type') as comment,
    (select string_agg(quote_literal(e.enumlabel), ', ' order by e.enumsortorder)
     from pg_enum e where e.enumtypid = t.oid) as definition
  from pg_type t where t.typnamespace = $1::regnamespace and t.typtype = 'e'
  order by t.typname::text collate "C"`;

// A function with a hash in its name is installed when a process starts, from a file that shows it.
const functionsSql = `
  select quote_ident(p.proname) as name, obj_description(p.oid, 'pg_proc') as comment,
    pg_get_functiondef(p.oid) as definition
  from pg_proc p
  where p.pronamespace = $1::regnamespace and p.prokind in ('f', 'p') and p.proname !~ '_[0-9a-f]{8,64}$'
  order by p.proname::text collate "C", pg_get_function_identity_arguments(p.oid) collate "C"`;

const viewsSql = `
  select quote_ident(c.relname) as name, obj_description(c.oid, 'pg_class') as comment,
    pg_get_viewdef(c.oid, true) as definition
  from pg_class c where c.relnamespace = $1::regnamespace and c.relkind = 'v'
  order by c.relname::text collate "C"`;

const othersSql = `
  select pg_describe_object('pg_class'::regclass, c.oid, 0) as name from pg_class c
  where c.relnamespace = $1::regnamespace and c.relkind not in ('r', 'p', 'i', 'I', 'S', 'v')
  union all
  select pg_describe_object('pg_type'::regclass, t.oid, 0) from pg_type t
  where t.typnamespace = $1::regnamespace and t.typtype in ('d', 'r')
  union all
  select pg_describe_object('pg_proc'::regclass, p.oid, 0) from pg_proc p
  where p.pronamespace = $1::regnamespace and p.prokind not in ('f', 'p')
  union all
  select pg_describe_object('pg_policy'::regclass, p.oid, 0)
  from pg_policy p join pg_class c on c.oid = p.polrelid where c.relnamespace = $1::regnamespace
  union all
  select pg_describe_object('pg_statistic_ext'::regclass, s.oid, 0) from pg_statistic_ext s
  where s.stxnamespace = $1::regnamespace`;

/**
 * @param client a connection of its own: its `search_path` changes
 * @throws Error if the schema has an object of a kind that {@link Catalogue} lacks
 */
export async function readCatalogue(client: pg.ClientBase, schema: string): Promise<Catalogue> {
  // PostgreSQL then leaves the name of the schema out of definitions.
  await client.query(`select set_config('search_path', $1, false)`, [schema]);
  const read = async <T extends pg.QueryResultRow>(sql: string) =>
    (await client.query<T>(sql, [schema])).rows;
  const others = await read<{ name: string }>(othersSql);
  if (others.length > 0) {
    throw new Error(
      `docs/schema.sql cannot show ${others.map(({ name }) => name).join(', ')}: extend test/ci/catalogue.ts`,
    );
  }
  return {
    tables: await read<Table>(tablesSql),
    sequences: await read<Defined>(sequencesSql),
    types: await read<Defined>(typesSql),
    functions: await read<Defined>(functionsSql),
    views: await read<Defined>(viewsSql),
  };
}
