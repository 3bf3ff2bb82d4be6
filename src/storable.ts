import { isFull, type ValidationErrors } from './errors.ts';

/** @returns why PostgreSQL cannot store this string as text or jsonb; null if it can */
function unstorable(text: string): string | null {
  if (text.includes('\u0000')) return 'must not contain the character NUL';
  if (!text.isWellFormed()) return 'must not contain half a surrogate pair';
  return null;
}

/** JavaScript treats the name `__proto__` specially, so the field would get lost. */
function unstorableName(name: string): string | null {
  return name === '__proto__' ? 'must not be __proto__' : unstorable(name);
}

/**
 * Finds strings and object keys that no column can store, up to the number of reported problems.
 * @param value parsed JSON, not too deep
 * @param path of `value`, dotted
 * @param errors receives the problems
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
