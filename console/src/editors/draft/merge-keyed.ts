/** Merges lists whose items have ids, such as steps: an item is the same wherever it is. */
import { isObject } from '../../ui/json-text.ts';
import { collide, type Merging, type Path, type Three } from './merging.ts';
import { isSame } from './same.ts';

type Items = ReadonlyMap<string, unknown>;

function keyOf(item: unknown): string | null {
  if (!isObject(item)) return null;
  if (typeof item.id === 'number') return String(item.id);
  return typeof item.ref === 'string' ? item.ref : null;
}

/** @returns null if an item has no id, or two have the same one */
function itemsOf(list: readonly unknown[]): Items | null {
  const items = new Map<string, unknown>();
  for (const item of list) {
    const key = keyOf(item);
    if (key === null || items.has(key)) return null;
    items.set(key, item);
  }
  return items;
}

/** Merges one item. @returns undefined if it is removed */
function mergeItem(merging: Merging, path: Path, of: Three<unknown>): unknown {
  const { base, mine, theirs } = of;
  if (base === undefined && (mine === undefined || theirs === undefined)) {
    if (mine === undefined) merging.taken.push(path);
    return mine ?? theirs;
  }
  return merging.merge(path, of);
}

/** The keys of a list by the last one of `common` before them; null is the start. */
function runsAfter(keys: readonly string[], common: ReadonlySet<string>): Map<string | null, string[]> {
  const runs = new Map<string | null, string[]>();
  let anchor: string | null = null;
  for (const key of keys) {
    if (common.has(key)) anchor = key;
    else runs.set(anchor, [...(runs.get(anchor) ?? []), key]);
  }
  return runs;
}

/** Merges the order of the items that all three have. @param items to show where both changed it */
function commonOrder(
  merging: Merging,
  path: Path,
  of: Three<readonly string[]>,
  items: Three<Items>,
): readonly string[] {
  const { base, mine, theirs } = of;
  if (isSame(mine, theirs) || isSame(base, theirs)) return mine;
  if (isSame(base, mine)) {
    merging.taken.push([...path, 'order']);
    return theirs;
  }
  const own = mine.map((key) => items.mine.get(key));
  const others = theirs.map((key) => items.theirs.get(key));
  const chosen = collide(merging, [...path, 'order'], { base: own, mine: own, theirs: others });
  return chosen === own ? mine : theirs;
}

/** What both added at the same place gets an order that is the same for both. */
function mergeOrder(merging: Merging, path: Path, of: Three<Items>): readonly string[] {
  const keys = {
    base: [...of.base.keys()],
    mine: [...of.mine.keys()],
    theirs: [...of.theirs.keys()],
  };
  const common = new Set(keys.base.filter((key) => of.mine.has(key) && of.theirs.has(key)));
  const inCommon = (all: readonly string[]) => all.filter((key) => common.has(key));
  const orders = { base: inCommon(keys.base), mine: inCommon(keys.mine), theirs: inCommon(keys.theirs) };
  const order = commonOrder(merging, path, orders, of);
  const [mine, theirs] = [runsAfter(keys.mine, common), runsAfter(keys.theirs, common)];
  const added = (anchor: string | null) =>
    [mine.get(anchor) ?? [], theirs.get(anchor) ?? []]
      .sort((one, other) => (one.join('\n') < other.join('\n') ? -1 : 1))
      .flat();
  return [...new Set([null, ...order].flatMap((key) => [...(key === null ? [] : [key]), ...added(key)]))];
}

/** @returns null if not every item has an id */
export function mergeKeyed(
  merging: Merging,
  path: Path,
  lists: Three<readonly unknown[]>,
): readonly unknown[] | null {
  const [base, mine, theirs] = [itemsOf(lists.base), itemsOf(lists.mine), itemsOf(lists.theirs)];
  if (!base || !mine || !theirs) return null;
  return mergeOrder(merging, path, { base, mine, theirs }).flatMap((key) => {
    const of = { base: base.get(key), mine: mine.get(key), theirs: theirs.get(key) };
    return mergeItem(merging, [...path, { key }], of) ?? [];
  });
}
