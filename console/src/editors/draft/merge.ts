/**
 * Merges what two people made of the same JSON. What only one of them changed is taken, and so is what both changed in
 * the same way. The rest are collisions, for which someone chooses. Parts that no one else changed stay the same objects.
 */
import { isObject } from '../../ui/json-text.ts';
import { mergeKeyed } from './merge-keyed.ts';
import { mergeLists } from './merge-lists.ts';
import {
  type Choices,
  collide,
  isCondition,
  kindOf,
  type Merging,
  type Path,
  type Three,
} from './merging.ts';
import { isSame } from './same.ts';

/** A field that is missing is undefined. */
function mergeFields(merging: Merging, path: Path, of: Three<Record<string, unknown>>): unknown {
  const { base, mine, theirs } = of;
  const merged: Record<string, unknown> = {};
  for (const name of new Set([...Object.keys(mine), ...Object.keys(theirs)])) {
    const [before, own, other] = [base, mine, theirs].map((each) =>
      Object.hasOwn(each, name) ? each[name] : undefined,
    );
    const value = merging.merge([...path, name], { base: before, mine: own, theirs: other });
    // "__proto__" is a name like others.
    if (value !== undefined) Object.defineProperty(merged, name, { value, ...PLAIN });
  }
  return merged;
}

const PLAIN = { enumerable: true, writable: true, configurable: true };

function mergeValue(merging: Merging, path: Path, of: Three<unknown>): unknown {
  const { base, mine, theirs } = of;
  if (isSame(mine, theirs) || isSame(base, theirs)) return mine;
  if (isSame(base, mine)) {
    merging.taken.push(path);
    return theirs;
  }
  const kind = kindOf(base);
  if (kind !== kindOf(mine) || kind !== kindOf(theirs) || isCondition(base))
    return collide(merging, path, of);
  if (Array.isArray(base) && Array.isArray(mine) && Array.isArray(theirs)) {
    const lists: Three<readonly unknown[]> = { base, mine, theirs };
    return mergeKeyed(merging, path, lists) ?? mergeLists(merging, path, lists);
  }
  if (!isObject(base) || !isObject(mine) || !isObject(theirs)) return collide(merging, path, of);
  return mergeFields(merging, path, { base, mine, theirs });
}

export interface Merged<Value> extends Pick<Merging, 'collisions' | 'taken'> {
  value: Value;
}

/** @param base what both began with */
export function merge<Value extends object>(of: Three<Value>, choices: Choices = new Map()): Merged<Value> {
  const merging: Merging = {
    choices,
    collisions: [],
    taken: [],
    merge: (path, parts) => mergeValue(merging, path, parts),
  };
  const value = merging.merge([], of) as Value;
  return { value, collisions: merging.collisions, taken: merging.taken };
}
