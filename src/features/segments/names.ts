import type { Tenant } from '../../platform/auth/tenant.ts';
import type { Queryable } from '../../platform/db/queryable.ts';
import { type HeavyReads, READS_OF_CONTACTS } from '../../platform/processes/heavy-reads.ts';
import { isTimeSql } from '../../platform/input/time-sql.ts';
import { MAX_NUMBER_LENGTH, NUMBER_PATTERN } from './json-values.ts';
import { namedKeySql } from './name-path.ts';
import type { FilterNames } from './schema.ts';

const CONTACTS = 500;
const MAX_KEYS = 200;
const MAX_LEVELS = 3;
const MAX_ELEMENTS = 10;
/** Longer paths cannot be part of a filter's name. */
const MAX_PATH = 290;

/** SQL: whether a key can be a part of a name as it is, with its dots escaped. Others need quotes. */
const isNameable = (key: string) => `${key} <> '' and ${key} !~ '["''\\[\\\\]'`;

const TEXT = "(value #>> '{}')";
/** SQL: the keys of the newest contacts, each with the types of its values. `$1` is the brand. */
const KEYS = `
  with recursive newest as materialized (
    select data from contacts where brand_id = $1 order by id desc limit ${CONTACTS}
  ), keys as (
    select ${namedKeySql('k.key')} as path, k.value, 1 as level from newest, jsonb_each(newest.data) k
    where ${isNameable('k.key')}
    union all
    select keys.path || '.' || ${namedKeySql('k.key')}, k.value, keys.level + 1
    from keys, jsonb_each(case jsonb_typeof(keys.value) when 'object' then keys.value else '{}' end) k
    where keys.level < ${MAX_LEVELS} and ${isNameable('k.key')}
  ), scalars as (
    select path, value from keys where jsonb_typeof(value) <> 'array'
    union all
    -- The types of an array are those of its elements.
    select path, e.value from keys cross join lateral (
      select * from jsonb_array_elements(case jsonb_typeof(keys.value) when 'array' then keys.value else '[]' end)
      limit ${MAX_ELEMENTS}) e
  ), typed as (
    select path, case jsonb_typeof(value)
      when 'number' then 'number'
      when 'boolean' then 'boolean'
      else case
        when length(${TEXT}) <= ${MAX_NUMBER_LENGTH} and ${TEXT} ~ '${NUMBER_PATTERN}' then 'number'
        when ${isTimeSql(TEXT, 'day')} then 'date'
        when ${isTimeSql(TEXT, 'zoned', 'local')} then 'time'
        else 'text' end
      end as type
    from scalars where jsonb_typeof(value) in ('string', 'number', 'boolean') and length(path) <= ${MAX_PATH}
  )
  select path, array_agg(distinct type) as types from typed group by path order by count(*) desc, path limit ${MAX_KEYS}`;

async function findEvents(db: Queryable, brandId: number): Promise<string[]> {
  const { rows } = await db.query<{ name: string }>(
    'select name from event_names where brand_id = $1 order by name',
    [brandId],
  );
  return rows.map(({ name }) => name);
}

/**
 * Finds names for filters: keys that contacts of the brand have in their data, and events that were tracked.
 * @throws AppError rate_limited
 */
export function findFilterNames(reads: HeavyReads, { accountId, brandId }: Tenant): Promise<FilterNames> {
  return reads.run({ accountId, what: READS_OF_CONTACTS }, async (db) => {
    const { rows } = await db.query<FilterNames['data'][number]>(KEYS, [brandId]);
    return { data: rows, events: await findEvents(db, brandId) };
  });
}
