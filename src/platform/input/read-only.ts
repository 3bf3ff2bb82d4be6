/** Read-only fields of resources, which clients may send back as they received them. */
import { isDeepStrictEqual } from 'node:util';
import { invalid, type ValidationErrors } from '../../errors.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What changes a read-only field. */
export interface Twin {
  /** The field of the request, or a header. */
  use: string;
  /** The names inside the field that `use` changes; others, such as counts, may be old. By default all of it. */
  parts?: readonly string[];
  /** Those of `parts` that lists of the resource show as null, and that then say nothing. */
  nullInLists?: readonly string[];
}

/** Read-only fields with a twin, by name. */
export type Twins = Readonly<Record<string, Twin>>;

/** The read-only fields of a request that have a twin. */
export interface Copied {
  readonly names: readonly string[];
  /**
   * Refuses fields that the client has edited. Without this, the request would succeed and the edit be lost.
   * @param stored the resource before the request, as clients see it; with at least the fields in `names`
   * @throws AppError validation_error
   */
  requireUnchanged(stored: Fields): void;
}

/**
 * Takes the read-only fields out of a body.
 * @returns the body without them, and their values
 */
export function withoutReadOnly(
  body: unknown,
  readOnly: readonly string[],
): { writable: unknown; copied: Fields } {
  const none = { writable: body, copied: {} };
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return none;
  // Most bodies have none and are returned unchanged: a copy costs time, and `delete` makes an object slow to read.
  if (!readOnly.some((name) => Object.hasOwn(body, name))) return none;
  const entries = Object.entries(body);
  const isReadOnly = ([name]: [string, unknown]) => readOnly.includes(name);
  return {
    writable: Object.fromEntries(entries.filter((entry) => !isReadOnly(entry))),
    copied: Object.fromEntries(entries.filter(isReadOnly)),
  };
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function isBlank(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  return typeof value === 'object' && Object.values(value).every(isBlank);
}

function isSame(given: unknown, stored: unknown, twin: Twin): boolean {
  const { parts, nullInLists = [] } = twin;
  if (isBlank(given) && isBlank(stored)) return true;
  if (!parts) return isDeepStrictEqual(given, stored);
  if (Array.isArray(given) && Array.isArray(stored)) {
    return given.length === stored.length && given.every((one, place) => isSame(one, stored[place], twin));
  }
  if (!isObject(given) || !isObject(stored)) return false;
  return parts.every((name) => {
    if (!Object.hasOwn(given, name) || (given[name] === null && nullInLists.includes(name))) return true;
    return isDeepStrictEqual(given[name] ?? null, stored[name] ?? null);
  });
}

/** Whether the twin makes the same change. */
function isMade(given: unknown, stored: unknown, twin: Twin, body: Fields): boolean {
  const change = body[twin.use];
  return isObject(change) && isObject(stored) && isSame(given, { ...stored, ...change }, twin);
}

/**
 * @param copied the read-only fields of a request
 * @param body the other fields of the request
 */
export function copiedFields(copied: Fields, twins: Twins, body: unknown): Copied {
  const names = Object.keys(copied).filter((name) => Object.hasOwn(twins, name));
  const others = isObject(body) ? body : {};
  return {
    names,
    requireUnchanged(stored) {
      const errors: ValidationErrors = {};
      for (const name of names) {
        const twin = twins[name] as Twin;
        const [given, before] = [copied[name], stored[name]];
        if (given === null || isSame(given, before, twin) || isMade(given, before, twin, others)) continue;
        errors[name] = [`differs from what is stored, and is read-only here; use ${twin.use} to change it`];
      }
      if (Object.keys(errors).length > 0) throw invalid(errors);
    },
  };
}

/**
 * Finds read-only fields of a new resource that would be lost: they have a value, and the twin is not given.
 * @param given names of the fields and headers of the request
 */
export function lostFields(copied: Fields, twins: Twins, given: readonly string[]): ValidationErrors {
  const lost = Object.entries(twins).filter(
    ([name, twin]) => Object.hasOwn(copied, name) && !isBlank(copied[name]) && !given.includes(twin.use),
  );
  return Object.fromEntries(lost.map(([name, { use }]) => [name, [`is read-only; use ${use} instead`]]));
}
