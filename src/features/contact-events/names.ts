import { LRUCache } from 'lru-cache';
import type pg from 'pg';
import { inTransaction, type Queryable } from '../../platform/db/queryable.ts';
import type { ReservedEventName } from './schema.ts';

/** Maximum number of event names per brand. */
export const MAX_NAMES = 1_000;
/** Maximum number of them that test keys may add. Many people have test keys, and names are never deleted. */
export const MAX_TEST_NAMES = 100;
const MAX_CACHED = 50_000;
/** Key space of the advisory locks of brands that get new names. Any fixed number that no other lock uses. */
const NAME_LOCK = 1_409_028;

export interface EventName {
  brand_id: number;
  name: string;
}

/** A name, and the kind of key that adds it if it is new; null: the name is only looked up. */
export interface AskedName extends EventName {
  adder: 'live' | 'test' | null;
}

/** A name as a key for maps. */
function keyOf({ brand_id: brandId, name }: EventName): string {
  return `${brandId}/${name}`;
}

/** Finds the numbers of event names. Names are never deleted, so numbers may be cached. */
export interface EventNames {
  /**
   * Assigns a number to new names.
   * @returns a function that returns the number of a name; null: it is new, and may not be added or would be too many
   */
  intern(names: readonly AskedName[]): Promise<(name: EventName) => number | null>;
}

async function findIds(db: Queryable, names: readonly EventName[]): Promise<Map<string, number>> {
  const { rows } = await db.query<EventName & { id: number }>(
    `select n.id, n.brand_id, n.name
     from unnest($1::bigint[], $2::text[]) as asked (brand_id, name) join event_names n using (brand_id, name)`,
    [names.map((each) => each.brand_id), names.map((each) => each.name)],
  );
  return new Map(rows.map((row) => [keyOf(row), row.id]));
}

/** Adds as many names of one brand as fit. A lock keeps two processes from both taking the last place. */
async function addNames(
  trx: Queryable,
  brandId: number,
  names: readonly string[],
  byTestKey: boolean,
): Promise<Map<string, number>> {
  await trx.query('select pg_advisory_xact_lock($1, $2)', [NAME_LOCK, brandId % 2 ** 31]);
  await trx.query(
    `insert into event_names (brand_id, name, by_test_key)
     select $1, n.name, $4 from unnest($2::text[]) as n (name)
     where not exists (select 1 from event_names k where k.brand_id = $1 and k.name = n.name)
     limit (
       select greatest(0, least($3 - count(*), case when $4 then $5 - count(*) filter (where by_test_key) end))
       from event_names where brand_id = $1)`,
    [brandId, names, MAX_NAMES, byTestKey, MAX_TEST_NAMES],
  );
  return findIds(
    trx,
    names.map((name) => ({ brand_id: brandId, name })),
  );
}

/**
 * Returns the number of a name, in the caller's transaction. Adding a new name waits for other transactions that add
 * names to the brand.
 * @returns null if the brand already has the maximum number of names
 */
export async function internName(trx: Queryable, name: EventName): Promise<number | null> {
  const found = await findIds(trx, [name]);
  const known = found.get(keyOf(name));
  if (known !== undefined) return known;
  const added = await addNames(trx, name.brand_id, [name.name], false);
  return added.get(keyOf(name)) ?? null;
}

/**
 * Returns the number of a name that Carillon reserves, for each of these brands, in the caller's transaction. The
 * maximum number of names does not apply. Adding it to a brand waits for a transaction that does the same.
 */
export async function internReserved(
  trx: Queryable,
  brandIds: readonly number[],
  name: ReservedEventName,
): Promise<Map<number, number>> {
  const ids = new Map<number, number>();
  const find = async (wanted: readonly number[]) => {
    const { rows } = await trx.query<{ brand_id: number; id: number }>(
      'select brand_id, id from event_names where brand_id = any($1) and name = $2',
      [wanted, name],
    );
    for (const row of rows) ids.set(row.brand_id, row.id);
    return wanted.filter((brandId) => !ids.has(brandId));
  };
  const missing = await find(brandIds);
  if (missing.length === 0) return ids;
  await trx.query(
    `insert into event_names (brand_id, name) select b.id, $2 from unnest($1::bigint[]) as b (id) order by b.id
     on conflict (brand_id, name) do nothing`,
    [missing, name],
  );
  await find(missing);
  return ids;
}

const STRENGTH = { live: 2, test: 1 };
const strengthOf = ({ adder }: AskedName) => (adder === null ? 0 : STRENGTH[adder]);

/** Of two events with the same new name, returns the one whose key may add more names. */
const strongerOf = (one: AskedName, other: AskedName | undefined): AskedName =>
  other && strengthOf(other) > strengthOf(one) ? other : one;

export function createEventNames(pool: pg.Pool): EventNames {
  const cached = new LRUCache<string, number>({ max: MAX_CACHED });

  async function findMissing(missing: readonly AskedName[]): Promise<Map<string, number>> {
    const found = await findIds(pool, missing);
    const unknown = missing.filter((each) => !found.has(keyOf(each)));
    for (const adder of ['live', 'test'] as const) {
      const added = Map.groupBy(
        unknown.filter((each) => each.adder === adder),
        (each) => each.brand_id,
      );
      for (const [brandId, names] of added) {
        const texts = names.map((each) => each.name);
        const ids = await inTransaction(pool, (trx) => addNames(trx, brandId, texts, adder === 'test'));
        for (const [key, id] of ids) found.set(key, id);
      }
    }
    return found;
  }

  return {
    async intern(names) {
      const ids = new Map<string, number>();
      const missing = new Map<string, AskedName>();
      for (const each of names) {
        const key = keyOf(each);
        const id = cached.get(key);
        if (id === undefined) missing.set(key, strongerOf(each, missing.get(key)));
        else ids.set(key, id);
      }
      if (missing.size > 0) {
        for (const [key, id] of await findMissing([...missing.values()])) {
          ids.set(key, id);
          cached.set(key, id);
        }
      }
      return (name) => ids.get(keyOf(name)) ?? null;
    },
  };
}
