import type { ValidationErrors } from '../errors.ts';

/** @returns why PostgreSQL cannot keep this string as text or jsonb; null where it can */
export function unstorable(text: string): string | null {
  if (text.includes('\u0000')) return 'must not contain the character NUL';
  if (!text.isWellFormed()) return 'must not contain half a surrogate pair';
  return null;
}

/**
 * Find every string, object keys included, that no column could hold.
 * @param value parsed JSON
 * @param path of `value`, dotted
 * @param errors is added to
 */
export function findUnstorable(value: unknown, path: string, errors: ValidationErrors): void {
  if (typeof value === 'string') {
    const reason = unstorable(value);
    if (reason) errors[path === '' ? 'body' : path] = [reason];
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value)) {
      const reason = unstorable(key);
      const name = reason ? JSON.stringify(key) : key;
      const at = path === '' ? name : `${path}.${name}`;
      if (reason) errors[at] = [`the name ${reason}`];
      findUnstorable(inner, at, errors);
    }
  }
}
