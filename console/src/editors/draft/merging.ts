/** What the parts of a merge have in common. */
import { isObject } from '../../ui/json-text.ts';

/** A field; an item by its id; or the items of a list from `at` up to `to`, as they are in mine. */
export type PathPart = string | { key: string } | { at: number; to: number };
export type Path = readonly PathPart[];

/** Says what a value at a place is, such as a step; null if the place has no words of its own. */
export type TextOf = (value: unknown, path: Path) => string | null;

export type Side = 'mine' | 'theirs';
/** By the names of collisions. Mine is taken where nothing was chosen. */
export type Choices = ReadonlyMap<string, Side>;

/** A place that both changed in different ways. */
export interface Collision {
  /** The path as text. */
  name: string;
  path: Path;
  /** Undefined if it was removed. */
  mine: unknown;
  theirs: unknown;
}

/** What is being merged, and what was found. */
export interface Merging {
  choices: Choices;
  collisions: Collision[];
  /** What they changed and I did not. */
  taken: Path[];
  merge: (path: Path, of: Three<unknown>) => unknown;
}

export interface Three<Value> {
  base: Value;
  mine: Value;
  theirs: Value;
}

/** Records a collision. @returns what was chosen */
export function collide<Value>(merging: Merging, path: Path, { mine, theirs }: Three<Value>): Value {
  const name = JSON.stringify(path);
  merging.collisions.push({ name, path, mine, theirs });
  return merging.choices.get(name) === 'theirs' ? theirs : mine;
}

/** A condition has a meaning as a whole only, unless it is a group of others. */
export const isCondition = (value: unknown): boolean =>
  isObject(value) && 'predicate' in value && !(Array.isArray(value.value) && value.value.some(isObject));

/** Things of different kinds have no parts in common, even if fields have the same names. */
export function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  if (!isObject(value)) return value === null ? 'null' : typeof value;
  if (isCondition(value)) return 'condition';
  return JSON.stringify([value.type, value.predicate === undefined ? null : [value.name, value.predicate]]);
}
