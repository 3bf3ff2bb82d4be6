import type { ValidationErrors } from '../../errors.ts';
import { isFull } from './validation.ts';

const MOST_LEVELS = 100;

/** @returns whether lists and objects stand inside each other more than 100 deep; what reads them calls itself */
export function isTooDeep(value: unknown, levels: number = MOST_LEVELS): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isTooDeep(inner, levels - 1));
}

/** @returns why PostgreSQL cannot keep this string as text or jsonb; null where it can */
function unstorable(text: string): string | null {
  if (text.includes('\u0000')) return 'must not contain the character NUL';
  if (!text.isWellFormed()) return 'must not contain half a surrogate pair';
  return null;
}

/** JavaScript gives this one name a meaning of its own: it would get lost on the way. */
function unstorableName(name: string): string | null {
  return name === '__proto__' ? 'must not be __proto__' : unstorable(name);
}

/**
 * Find every string, object keys included, that no column could hold, as far as anybody wants to read of them.
 * @param value parsed JSON, not too deep
 * @param path of `value`, dotted
 * @param errors is added to
 */
export function findUnstorable(value: unknown, path: string, errors: ValidationErrors): void {
  if (typeof value === 'string') {
    const reason = unstorable(value);
    if (reason) errors[path === '' ? 'body' : path] = [reason];
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      if (isFull(errors)) return;
      const reason = unstorableName(key);
      const name = reason ? JSON.stringify(key) : key;
      const at = path === '' ? name : `${path}.${name}`;
      if (reason) errors[at] = [`the name ${reason}`];
      findUnstorable(inner, at, errors);
    }
  }
}
