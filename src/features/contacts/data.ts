import { MAX_DATA_BYTES, MAX_DATA_LEVELS } from './schema.ts';

export type ContactData = Record<string, unknown>;

/** Patches `data` by key: a key that is null is removed, keys that are not named stay. */
export function patchData(current: ContactData, patch: ContactData): ContactData {
  const patched = new Map(Object.entries(current));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) patched.delete(key);
    else patched.set(key, value);
  }
  return Object.fromEntries(patched);
}

/** The levels of nesting; the value itself is one if it is an object or array. The request has bounded them already. */
function levelsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce((most: number, inner) => Math.max(most, levelsOf(inner)), 0);
}

/** @returns why the data cannot be stored, as the end of a sentence; null if it can */
export function dataProblem(data: ContactData): string | null {
  if (levelsOf(data) > MAX_DATA_LEVELS) return `must not be nested deeper than ${MAX_DATA_LEVELS} levels`;
  if (Buffer.byteLength(JSON.stringify(data)) > MAX_DATA_BYTES) {
    return `must have at most ${MAX_DATA_BYTES} bytes as JSON`;
  }
  return null;
}
