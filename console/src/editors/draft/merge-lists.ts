/**
 * Merges lists whose items have no ids, such as the sections of a letter. Items are recognized by what they are: those
 * that are equal, and those that are between the same neighbors and are of the same kind.
 */
import { hashKey } from '@tanstack/react-query';
import { commonItems } from '../../ui/common-items.ts';
import { collide, kindOf, type Merging, type Path, type Three } from './merging.ts';
import { isSame } from './same.ts';

type List = readonly unknown[];

/** Finding equal items takes the product of both lengths. */
const MAX_PAIRS = 250_000;

/** Says for each item of the base where it is in another list; undefined if it was removed or moved. */
function alignmentOf(base: List, list: List): (number | undefined)[] {
  const [from, to] = [base.map((item) => hashKey([item])), list.map((item) => hashKey([item]))];
  const found = commonItems(from, to);
  const [before, after] = [new Set(from), new Set(to)];
  const aligned = [...found];
  let [start, first] = [0, 0];
  for (let end = 0; end <= base.length; end += 1) {
    const next = end === base.length ? list.length : found[end];
    if (next === undefined) continue;
    const isPaired = end - start === next - first;
    for (let i = start; isPaired && i < end; i += 1) {
      const j = first + i - start;
      // An item that is elsewhere in the list was moved, not changed.
      const wasMoved = after.has(from[i] ?? '') || before.has(to[j] ?? '');
      if (!wasMoved && kindOf(base[i]) === kindOf(list[j])) aligned[i] = j;
    }
    [start, first] = [end + 1, next + 1];
  }
  return aligned;
}

/** Merges the items between two that all three lists have. */
function mergeGap(merging: Merging, path: Path, of: Three<List>, at: number): List {
  const { base, mine, theirs } = of;
  const place: Path = [...path, { at, to: at + mine.length }];
  if (isSame(mine, theirs) || isSame(base, theirs)) return mine;
  if (isSame(base, mine)) {
    merging.taken.push(place);
    return theirs;
  }
  if (base.length > 0) return collide(merging, place, of);
  // Both added something: its order is the same for both.
  merging.taken.push([...path, { at: at + mine.length, to: at + mine.length }]);
  return hashKey([mine]) < hashKey([theirs]) ? [...mine, ...theirs] : [...theirs, ...mine];
}

export function mergeLists(merging: Merging, path: Path, lists: Three<List>): List {
  const { base, mine, theirs } = lists;
  if (base.length * Math.max(mine.length, theirs.length) > MAX_PAIRS) return collide(merging, path, lists);
  const [inMine, inTheirs] = [alignmentOf(base, mine), alignmentOf(base, theirs)];
  const merged: unknown[] = [];
  let from = { base: 0, mine: 0, theirs: 0 };
  const closeGap = (to: Three<number>) => {
    const gap = {
      base: base.slice(from.base, to.base),
      mine: mine.slice(from.mine, to.mine),
      theirs: theirs.slice(from.theirs, to.theirs),
    };
    merged.push(...mergeGap(merging, path, gap, from.mine));
    from = { base: to.base + 1, mine: to.mine + 1, theirs: to.theirs + 1 };
  };
  for (const [index, item] of base.entries()) {
    const [own, other] = [inMine[index], inTheirs[index]];
    if (own === undefined || other === undefined) continue;
    closeGap({ base: index, mine: own, theirs: other });
    const of = { base: item, mine: mine[own], theirs: theirs[other] };
    merged.push(merging.merge([...path, { at: own, to: own + 1 }], of));
  }
  closeGap({ base: base.length, mine: mine.length, theirs: theirs.length });
  return merged;
}
