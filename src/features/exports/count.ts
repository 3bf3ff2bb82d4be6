import type pg from 'pg';
import { MAX_DATA_COLUMNS } from './contacts.ts';
import { type Counted, type ExportRow, saveCounted, savePlan } from './model.ts';
import { filterTexts } from './schema.ts';
import { type ExportSource, exportSources, scopeOf } from './sources.ts';

/** Maximum number of keys that are counted, each of at most 200 bytes: `data` may have any number of keys. */
const MAX_COUNTED_KEYS = 1_000;

type KeyCounts = Counted['keys'];

/** Returns the most frequent keys. Keys of the same frequency are in alphabetical order. */
function ranked(counts: Iterable<[string, number]>, most: number): KeyCounts {
  return [...counts].sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1)).slice(0, most);
}

function added(counts: KeyCounts, more: ReadonlyMap<string, number>): KeyCounts {
  const sums = new Map(counts);
  for (const [key, count] of more) sums.set(key, (sums.get(key) ?? 0) + count);
  return ranked(sums, MAX_COUNTED_KEYS);
}

async function nextPage(pool: pg.Pool, row: ExportRow, before: Counted, maxRows: number): Promise<Counted> {
  const source: ExportSource = exportSources[row.resource];
  const scope = scopeOf(row);
  const { lastId: upTo, after } = before;
  const { ids, scannedTo } = await source.scan(pool, scope, filterTexts(row.filters), {
    after,
    upTo,
    maxRows,
  });
  const keys =
    source.countKeys && ids.length > 0
      ? added(before.keys, await source.countKeys(pool, scope, ids, MAX_COUNTED_KEYS))
      : before.keys;
  return { lastId: upTo, after: scannedTo, totalRows: before.totalRows + ids.length, keys };
}

/**
 * Counts the rows and the keys of one page, and stores the progress. After the last page, it stores the rows and
 * columns of the export.
 */
export async function countPage(pool: pg.Pool, row: ExportRow, maxRows: number): Promise<void> {
  const before: Counted = row.counted ?? {
    lastId: await exportSources[row.resource].highestId(pool, scopeOf(row)),
    after: 0,
    totalRows: 0,
    keys: [],
  };
  const { lastId } = before;
  const counted = before.after < lastId ? await nextPage(pool, row, before, maxRows) : before;
  if (counted.after < lastId) return saveCounted(pool, row.id, counted);
  const dataColumns = ranked(counted.keys, MAX_DATA_COLUMNS)
    .map(([key]) => key)
    .sort();
  await savePlan(pool, row.id, { lastId, totalRows: counted.totalRows, dataColumns });
}
