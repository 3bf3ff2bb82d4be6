import { MAX_DATA_BYTES, MAX_DATA_LEVELS } from './schema.ts';

export type ContactData = Record<string, unknown>;

/** Patches `data` by key: a key that is null is removed, and keys that are left out stay. */
export function patchData(current: ContactData, patch: ContactData): ContactData {
  const patched = new Map(Object.entries(current));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) patched.delete(key);
    else patched.set(key, value);
  }
  return Object.fromEntries(patched);
}

/**
 * Whether objects and arrays are nested more than `levels` deep. The value itself counts if it is an object or array.
 */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeper(inner, levels - 1));
}

/** @returns why the data cannot be stored, as the end of a sentence; null if it can be */
export function dataProblem(data: ContactData, maxBytes = MAX_DATA_BYTES): string | null {
  if (isDeeper(data, MAX_DATA_LEVELS)) return `must not be nested deeper than ${MAX_DATA_LEVELS} levels`;
  if (Buffer.byteLength(JSON.stringify(data)) > maxBytes) {
    return `must have at most ${maxBytes} bytes as JSON`;
  }
  return null;
}
