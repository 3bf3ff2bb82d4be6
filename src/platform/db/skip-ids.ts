import type { Queryable } from './queryable.ts';

/** How a sequence was moved. */
export interface MovedSequence {
  sequence: string;
  /** The last id that it had given out. */
  from: number;
  to: number;
}

/** A sequence of integers of 32 bits has little room: each time, it gives up a hundredth of what is left. */
const SHARE_OF_REST = 100;

/**
 * Moves every sequence of the schema, so that ids that were given out after a backup are not given out again. A
 * sequence that the backup had not used yet may have been used since, so it moves too.
 * @param by how many ids each sequence skips, at most a hundredth of those it has left
 * @param except sequences that are moved in another way
 */
export async function skipIds(
  db: Queryable,
  by: number,
  except: readonly string[],
): Promise<MovedSequence[]> {
  const { rows } = await db.query<MovedSequence>(
    `with s as materialized (
       select format('%I.%I', schemaname, sequencename)::regclass as place, sequencename::text as sequence,
         coalesce(last_value, start_value) as last, max_value as max
       from pg_sequences where schemaname = current_schema() and sequencename <> all ($2))
     select sequence, last as "from", setval(place, last + least($1::bigint, (max - last) / $3)) as "to"
     from s order by sequence`,
    [by, except, SHARE_OF_REST],
  );
  return rows;
}
